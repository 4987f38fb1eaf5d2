#!/usr/bin/python3
"""Every C and C++ file is as clang-format leaves it. Versions differ in what they leave, so only the one that the
project uses decides."""
import pathlib
import re
import subprocess
import sys

import tap

VERSION = 14
FOLDERS = ('include', 'src', 'kernels', 'bench', 'examples', 'tests', 'tools')
SOURCES = ('.h', '.cc', '.c', '.cu', '.cuh')


def files_are_formatted(root, program):
    if not program:
        raise tap.Skip('clang-format is not here')
    version = subprocess.check_output([program, '--version'], text=True)
    if int(re.search(r'version (\d+)', version).group(1)) != VERSION:
        raise tap.Skip(f'clang-format {VERSION} is not here')
    files = sorted(str(f) for folder in FOLDERS for f in (root / folder).rglob('*') if f.suffix in SOURCES)
    check = subprocess.run([program, '--dry-run', '-Werror', *files], stderr=subprocess.PIPE, text=True)
    wrong = sorted(set(re.findall(r'^(.+?):\d+:\d+: error', check.stderr, re.MULTILINE)))
    names = ' '.join(str(pathlib.Path(w).relative_to(root)) for w in wrong)
    assert check.returncode == 0, f'run: clang-format -i {names or check.stderr}'


root = pathlib.Path(sys.argv[1])
tap.case('files_are_formatted', files_are_formatted, root, sys.argv[2])
tap.finish()
