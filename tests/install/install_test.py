#!/usr/bin/python3
"""What a user gets: the build is installed into an empty folder, the example without MPI is compiled there by a plain
C compiler through pkg-config, and run. Nothing of the source tree or the build is on any path.

usage: install_test.py ROOT BUILD
"""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

# What each example must print; the order of lines is free, since ranks are threads.
EXPECTED = {
    'all_reduce.c': [f'rank {rank} of 4: each element is 10' for rank in range(4)],
}


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    assert done.returncode == 0, f'{" ".join(map(str, command))}: status {done.returncode}\n{done.stdout}'
    return done.stdout


def install(build, target):
    run('meson', 'install', '-C', build, '--no-rebuild', '--destdir', target)


def one(target, name):
    found = sorted(target.rglob(name))
    assert len(found) == 1, f'{name}: found {found or "nowhere"} in the installed copy'
    return found[0]


def library_has_soname(target):
    library = one(target, 'libtutti.so.0')
    text = run('readelf', '-d', library)
    assert 'Library soname: [libtutti.so.0]' in text, text
    assert 'RPATH' not in text and 'RUNPATH' not in text, text
    link = one(target, 'libtutti.so')
    assert link.resolve() == library.resolve(), f'{link} leads to {link.resolve()}'


def header_stands_alone(target, compiler, flags, include):
    source = '#include <tutti/tutti.h>\nint main(void) { return 0; }\n'
    run(compiler, *flags, '-Wall', '-Wextra', '-Werror', '-pedantic', f'-I{include}', '-fsyntax-only', '-',
        input=source)


def environment(target):
    found = dict(os.environ)
    found['PKG_CONFIG_PATH'] = str(one(target, 'tutti.pc').parent)
    found['TUTTI_LOG'] = 'error'   # there may be fewer cores than ranks
    found['LD_LIBRARY_PATH'] = str(one(target, 'libtutti.so.0').parent)
    return found


def example_runs(source, target, folder):
    env = environment(target)
    flags = run('pkg-config', '--cflags', '--libs', 'tutti', env=env).split()
    program = folder / source.stem
    run('cc', '-std=c11', '-Wall', '-Wextra', '-Werror', source, *flags, '-pthread', '-o', program, cwd=folder)
    printed = sorted(run(program, env=env, cwd=folder, timeout=60).splitlines())
    expected = EXPECTED.get(source.name)
    assert expected, f'say in {pathlib.Path(__file__).name} what {source.name} must print'
    assert printed == sorted(expected), 'it printed:\n' + '\n'.join(printed)


def programs_are_installed(build, target):
    if not list(build.glob('bench/*_perf')):
        raise tap.Skip('this build has no programs')
    one(target, 'all_reduce_perf')


def program_runs(program, target):
    text = run(program, '--help', env=environment(target))
    assert '-b' in text, text


def main():
    root, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    with tempfile.TemporaryDirectory() as directory:
        target, folder = pathlib.Path(directory) / 'installed', pathlib.Path(directory) / 'work'
        folder.mkdir()
        tap.case('install', install, build, target)
        tap.case('library_has_soname', library_has_soname, target)
        header = next(target.rglob('tutti.h'), target / 'missing').parent.parent
        tap.case('header_is_c11', header_stands_alone, target, 'cc', ['-std=c11', '-xc'], header)
        tap.case('header_is_cxx', header_stands_alone, target, 'c++', ['-std=c++11', '-xc++'], header)
        for source in sorted(set((root / 'examples').glob('*.c')) - set((root / 'examples').glob('*_mpi.c'))):
            tap.case(f'example_{source.stem}', example_runs, source, target, folder)
        tap.case('programs_are_installed', programs_are_installed, build, target)
        for program in sorted(target.rglob('*_perf')):
            tap.case(f'program_{program.name}', program_runs, program, target)
    tap.finish()


main()
