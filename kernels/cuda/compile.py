#!/usr/bin/python3
"""Runs nvcc and keeps, beside the object, what the tests look at: the PTX, and what ptxas -v says of each kernel
(which would otherwise fill the build's output).

usage: compile.py OBJECT PTX REPORT COMMAND...      the command compiles one file to OBJECT
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# What `-v` adds; everything else is for people.
SAID_BY_V = re.compile(r"^(ptxas info\s*:|\s+\d+ bytes stack frame|\s*$)")


def main():
    target, ptx, report, *command = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=pathlib.Path(target).parent) as kept:
        run = subprocess.run([*command, '-Xptxas', '-v', '--keep', '--keep-dir', kept], stderr=subprocess.PIPE, text=True)
        sys.stderr.write(''.join(l for l in run.stderr.splitlines(True) if run.returncode or not SAID_BY_V.match(l)))
        if run.returncode:
            sys.exit(run.returncode)
        found = list(pathlib.Path(kept).glob('*.ptx'))
        if len(found) != 1:
            sys.exit(f'one file of PTX was expected, not {[f.name for f in found]}')
        shutil.copyfile(found[0], ptx)
        pathlib.Path(report).write_text(run.stderr)


main()
