#!/usr/bin/python3
"""The library exports the functions that tutti.h declares and nothing else: one list, tests/exported_names.txt, equals
both. A name that appears or goes is a change of the ABI, and the list makes it visible in review. Nor is the library
unloaded once it is there.

usage: exported_names_test.py ROOT LIBRARY     the test
       exported_names_test.py ROOT --update    writes the list anew from the header
"""
import pathlib
import re
import subprocess
import sys

import tap


def declared(header):
    """Names of the functions that a header declares."""
    text = re.sub(r'/\*.*?\*/|//[^\n]*', ' ', header, flags=re.DOTALL)
    text = re.sub(r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', ' ', text, flags=re.MULTILINE)
    text = re.sub(r'\btypedef\b[^;{]*(?:\{[^}]*\})?[^;]*;', ' ', text)
    return set(re.findall(r'\b(tutti[A-Z]\w*)\s*\([^;{]*\)\s*;', text))


def exported(library):
    text = subprocess.check_output(['nm', '-D', '--defined-only', library], text=True)
    return {line.split()[-1].split('@')[0] for line in text.splitlines()}


def equal(names, listed, where):
    lines = [f'{name}: in the list, not {where}' for name in sorted(listed - names)]
    lines += [f'{name}: {where}, not in the list' for name in sorted(names - listed)]
    assert not lines, '\n'.join(lines) + '\nIf this is meant: tests/exported_names_test.py ROOT --update'


def stays_loaded(library):
    flags = subprocess.check_output(['readelf', '--dynamic', '--wide', library], text=True)
    assert 'NODELETE' in flags, 'dlclose would take away what is called when a thread ends with a group open'


root = pathlib.Path(sys.argv[1])
path = root / 'tests' / 'exported_names.txt'
names = declared((root / 'include' / 'tutti' / 'tutti.h').read_text())
if sys.argv[2] == '--update':
    path.write_text(''.join(f'{name}\n' for name in sorted(names)))
    sys.exit()
listed = set(path.read_text().split())
tap.case('header_declares_the_list', equal, names, listed, 'declared in tutti.h')
tap.case('library_exports_the_list', lambda: equal(exported(sys.argv[2]), listed, 'exported by the library'))
tap.case('library_stays_loaded', stays_loaded, sys.argv[2])
tap.finish()
