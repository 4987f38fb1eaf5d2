#!/usr/bin/python3
"""The matrix of collectives between processes that mpirun starts.

Arguments: mpirun of the MPI of the build, its name (openmpi or mpich), the program (matrix_mpi.cc)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import launching  # noqa: E402
import tap  # noqa: E402


def all_is_right(processes):
    done = launching.run(launching.mpirun(*sys.argv[1:3], processes, sys.argv[3]))
    assert done.returncode == 0, done.stdout + done.stderr


for count in (1, 2, 3, 4, 8):
    tap.case(f'all_is_right {count}', all_is_right, count)
tap.finish()
