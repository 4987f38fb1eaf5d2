#!/usr/bin/python3
"""The arrows between folders point one way: every #include is read and compared with the table in
docs/architecture.md. Meson does not enforce it: a file that includes a forbidden folder compiles and links."""
import pathlib
import re
import sys
import tempfile

import tap

SOURCES = ('.h', '.cc', '.c', '.cu', '.cuh')
FOLDERS = ('src', 'kernels', 'include', 'bench', 'examples')
ROOTS = ('', 'src', 'include')      # where the compiler looks, see internal_inc in the root meson.build
FROM_THE_ROOT = ('src', 'kernels')  # in the programs a file may name its neighbour plainly
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
HEADING = re.compile(r'^\|\s*folder\s*\|\s*builds on\s*\|\s*$')


def read_table(path):
    """{folder: set of folders it may include}, from the Markdown table."""
    table, inside = {}, False
    for line in path.read_text().splitlines():
        if HEADING.match(line):
            inside = True
        elif inside and not line.startswith('|'):
            break
        elif inside and not line.startswith('|--'):
            folder, others = line.strip('|').split('|')[:2]
            table[folder.strip().strip('`').rstrip('/')] = {o.rstrip('/') for o in re.findall(r'`([^`]+)`', others)}
    return table


def folder_of(path, table):
    """The row that a file belongs to: the longest one that leads to it."""
    rows = [row for row in table if path.startswith(row + '/')]
    return max(rows, key=len, default=None)


def wrong_includes(root, table):
    """One sentence for each include that the table does not allow."""
    wrong = []
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob('*')):
            if file.suffix not in SOURCES:
                continue
            name = str(file.relative_to(root))
            own = folder_of(name, table)
            if own is None:
                wrong.append(f'{name}: no row of the table has its folder')
                continue
            for included in INCLUDE.findall(file.read_text()):
                places = [root / r / included for r in ROOTS] + [file.parent / included]
                target = next((place for place in places if place.is_file()), None)
                if target is None:
                    continue    # not ours
                if target == places[-1] and folder in FROM_THE_ROOT:
                    wrong.append(f'{name}: includes "{included}" from its own folder: write it from the root of src/')
                other = folder_of(str(target.resolve().relative_to(root.resolve())), table)
                if other != own and other not in table[own]:
                    wrong.append(f'{name}: includes {included}, and {own}/ does not build on {other}/')
    return wrong


def table_has_no_cycle(table):
    done, path = set(), []

    def visit(folder):
        assert folder in table, f'{folder} is built on but has no row'
        assert folder not in path, 'a cycle: ' + ' -> '.join(path + [folder])
        if folder in done:
            return
        path.append(folder)
        for other in sorted(table[folder]):
            visit(other)
        path.pop()
        done.add(folder)

    for folder in table:
        visit(folder)


def includes_follow(root, table):
    wrong = wrong_includes(root, table)
    assert not wrong, '\n'.join(wrong) + '\nmove the type down, pass a value, or change docs/architecture.md'


def planted_mistake_is_found():
    table = {'src/base': set(), 'src/api': {'src/base'}}
    files = {'src/base/up.h': '#include "api/top.h"\n', 'src/api/top.h': '#  include "base/up.h"\n#include <map>\n',
             'src/base/relative.h': '#include "up.h"\n', 'src/other/lost.cc': ''}
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        wrong = wrong_includes(root, table)
    assert [w.split(':')[0] for w in wrong] == ['src/base/relative.h', 'src/base/up.h', 'src/other/lost.cc'], wrong


def main():
    root = pathlib.Path(sys.argv[1])
    table = read_table(root / 'docs' / 'architecture.md')
    tap.case('table_has_no_cycle', table_has_no_cycle, table)
    tap.case('includes_follow_the_table', includes_follow, root, table)
    tap.case('planted_mistake_is_found', planted_mistake_is_found)
    tap.finish()


main()
