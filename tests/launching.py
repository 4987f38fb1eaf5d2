"""Programs under mpirun, for tests: a clean environment, and an end to every run."""
import os
import subprocess

import tap

LIMIT = 60  # seconds a single run may take
LAUNCHERS = ('OMPI_', 'PMI_', 'PMIX_', 'MV2_', 'SLURM_', 'HYDRA_', 'MPI_')


def environment(**more):
    """Without what a launcher or a test around this one may have left in it."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(LAUNCHERS) and name not in ('TUTTI_PERF_FLIP', 'TUTTI_ALGO')}
    clean.update(OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')
    # MPI keeps memory until the process ends, which passes for leaks.
    clean['ASAN_OPTIONS'] = clean.get('ASAN_OPTIONS', '') + ':detect_leaks=0'
    clean.update(more)
    return clean


def mpirun(program, implementation, processes, *command):
    """The command; `program` is the mpirun of the build's MPI, empty if there is none."""
    if not program:
        raise tap.Skip('this build has no MPI')
    more = ['--oversubscribe', '--bind-to', 'none'] if implementation == 'openmpi' else []
    return [program, *more, '-n', str(processes), *map(str, command)]


def run(command, **more):
    """Like subprocess.run, but what runs past its time is killed with all that it has started."""
    process = subprocess.Popen(command, env=environment(**more), text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f'not done after {LIMIT} s: {command}\n{out}{err}') from None
    return subprocess.CompletedProcess(command, process.returncode, out, err)
