#!/usr/bin/python3
"""What the CUDA compiler made of the kernels, read as text, because there is no GPU where this runs: nothing spills,
flags are loaded and stored with their order at system scope, no data is loaded past it, and what is linked needs
nothing of CUDA to start.

usage: cuda_build_test.py BUILD ARCHITECTURES FILE...     the reports of ptxas, the PTX, and linked files, in any order
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
KERNELS = {'reduce_copy': 'reduceCopyAll', 'virtual_ranks': 'virtualRanks'}
OPERATIONS = 5
TYPES = 12
COMPILING = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
FRAME = re.compile(r'(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads')
REGISTERS = re.compile(r'Used (\d+) registers')
THREADS = {'reduce_copy': 512, 'virtual_ranks': 384}    # of a block
REGISTERS_OF_A_BLOCK = 65536
MOST_PACKED = 48 << 20      # bytes that travel to a machine with a GPU


def kernels_of(report):
    """[(kernel, architecture, (stack, stores, loads), registers)]; None where the report does not say. Functions that
    are called rather than inlined count for the kernel before them."""
    found = []
    for line in report.splitlines():
        if match := COMPILING.search(line):
            found.append([*match.groups(), None, None])
        elif match := FRAME.search(line):
            frame = tuple(int(n) for n in match.groups())
            if found:
                found[-1][2] = max(found[-1][2] or frame, frame)
        elif (match := REGISTERS.search(line)) and found:
            found[-1][3] = int(match.group(1))
    return [tuple(kernel) for kernel in found]


def faults_of(report, kernel, architectures, threads):
    """One sentence for each kernel that is not as it has to be, or not there."""
    kernels = kernels_of(report)
    faults = []
    for name, architecture, frame, registers in kernels:
        if frame != (0, 0, 0):
            faults.append(f'{name} for {architecture}: {frame} bytes of stack, spilled and loaded again')
        if registers is None or registers * threads > REGISTERS_OF_A_BLOCK:
            faults.append(f'{name} for {architecture}: {registers} registers, and a block has {threads} threads')
    for architecture in architectures:
        n = sum(1 for name, own, *_ in kernels if own == architecture and kernel in name)
        if n != OPERATIONS:
            faults.append(f'{n} kernels {kernel} for {architecture}, not {OPERATIONS}')
    return faults


# What exchanges messages: flags with their order, and words that are flag and data at once without one.
ORDERED = ('ld.acquire.sys.global.u64', 'st.release.sys.global.u64', 'ld.relaxed.sys.global.u64',
           'st.relaxed.sys.global.u64')


def entries_of(ptx):
    """[(kernel, its text)]"""
    return [(entry.split('(')[0].strip(), entry) for entry in ptx.split('.entry ')[1:]]


def number_faults(ptx):
    n = len(entries_of(ptx))
    return [] if n == OPERATIONS else [f'{n} kernels, not {OPERATIONS}']


def order_faults(ptx):
    """What is missing in, or wrong with, the memory operations of a file of kernels that exchange messages. Every kernel
    has its own."""
    faults = []
    for name, entry in entries_of(ptx):
        faults += [f'{name}: no {wanted}' for wanted in ORDERED if wanted not in entry]
        found = set(re.findall(r'\b(?:ld\.global\.nc|(?:ld|st)\.(?:relaxed|acquire|release|volatile))[\w.]*', entry))
        faults += [f'{name}: {strange}' for strange in sorted(found - set(ORDERED))]
    return faults


def wide_faults(ptx):
    return [f'{name}: no {access} of 16 bytes' for name, entry in entries_of(ptx) for access in ('ld', 'st')
            if not re.search(rf'\b{access}(\.\w+)?\.v4\.(u|b)32', entry)]


def needed(file):
    text = subprocess.check_output(['readelf', '--dynamic', '--wide', file], text=True)
    return set(re.findall(r'\(NEEDED\).*\[(.*)\]', text))


def cuda_names(names):
    return sorted(n for n in names if re.match(r'lib(cuda|cudart|nv|cu)', n))


def nothing(faults):
    assert not faults, '\n'.join(faults)


def of_all(files, find, *arguments):
    assert files, 'no file to look at'
    nothing([f'{file.stem}: {fault}' for file in files for fault in find(file.read_text(), *arguments)])


def needs_no_cuda(file):
    names = needed(file)
    assert names, f'{file} needs nothing at all, so it was not read'
    nothing([f'{file} needs {name}' for name in cuda_names(names)])
    # And what it needs needs none either.
    listed = subprocess.check_output(['ldd', file], text=True)
    nothing([f'ldd {file}: {name}' for name in cuda_names(line.split()[0] for line in listed.splitlines())])


def run_says_no_gpu(build):
    with tempfile.TemporaryDirectory() as folder:   # a report that someone wants may lie in the build
        run = subprocess.run([HERE / 'run', build, '--output', folder], stdout=subprocess.PIPE, text=True,
                             env={**os.environ, 'CUDA_VISIBLE_DEVICES': ''})
    if 'cudaErrorInsufficientDriver' in run.stdout:
        raise tap.Skip('the driver here is older than the toolkit')
    assert run.returncode == 77 and 'no GPU' in run.stdout, f'status {run.returncode}: {run.stdout}'


def packs(build, folder):
    """What it says of the files."""
    pack = subprocess.run([HERE / 'pack', build, folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert pack.returncode == 0 and re.search(r'^ *\d+\.\d+ MiB in all', pack.stdout, re.MULTILINE), pack.stdout
    return pack.stdout


def refuses_to_pack(build, folder, words):
    pack = subprocess.run([HERE / 'pack', build, folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert pack.returncode == 1 and words in pack.stdout, f'status {pack.returncode}: {pack.stdout}'


def packed_is_small_and_whole(build):
    with tempfile.TemporaryDirectory() as folder:
        said = packs(build, folder)
        packed = pathlib.Path(folder)
        assert sum(f.stat().st_size for f in packed.rglob('*') if f.is_file()) < MOST_PACKED, said
        assert (packed / 'commit').is_file(), said
        assert packs(build, folder) == said
        # Everything comes from the folder or is what every machine has.
        for line in subprocess.check_output(['ldd', packed / 'tests' / 'gpu' / 'gpu_proof'], text=True).splitlines():
            name = pathlib.Path(line.split()[0]).name
            assert folder in line or re.match(r'linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so', name), line
        run_says_no_gpu(packed)


def pack_needs_a_build():
    with tempfile.TemporaryDirectory() as folder:
        refuses_to_pack('/nowhere', folder, 'build with')


def pack_refuses_what_is_out_of_date():
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder)
        (build / 'build.ninja').write_text('rule link\n  command = cp $in $out\n  restat = 1\n'
                                           'build tests/gpu/gpu_proof: link source\n')
        program = build / 'tests' / 'gpu' / 'gpu_proof'
        program.parent.mkdir(parents=True)
        program.write_text('')
        program.chmod(0o755)
        (build / 'source').write_text('')
        refuses_to_pack(build, build / 'packed', 'is out of date: ninja -C')
        assert not (build / 'packed').exists()


def pack_spares_what_it_did_not_make(build):
    with tempfile.TemporaryDirectory() as folder:
        someones = pathlib.Path(folder) / 'tests' / 'gpu' / 'someones'
        someones.parent.mkdir(parents=True)
        someones.write_text('')
        refuses_to_pack(build, folder, 'holds something else')
        assert someones.exists()


def planted_mistakes_are_found():
    good = "".join(f"ptxas info : Compiling entry function '{n}virtualRanks' for 'sm_90'\n"
                   "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                   "ptxas info : Used 128 registers\n" for n in range(OPERATIONS))
    assert not faults_of(good, 'virtualRanks', ['sm_90'], 512)
    for bad in (good.replace('0 bytes stack', '8 bytes stack', 1), good.replace('0 bytes spill l', '4 bytes spill l', 1),
                good.replace('128 reg', '129 reg', 1), good.replace('0 bytes stack frame', '', 1),
                good.replace('sm_90', 'sm_80', 1), '',
                good + '    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n'):
        assert faults_of(bad, 'virtualRanks', ['sm_90'], 512), bad
    entry = '.entry k(\n' + '; '.join(ORDERED) + '; ld.v4.u32 a; st.v4.u32 b;'
    assert not order_faults(entry) and not wide_faults(entry)
    for old, new in (('acquire', 'relaxed'), ('release', 'relaxed'), ('ld.relaxed', 'ld.acquire'),
                     ('st.relaxed', 'st.volatile'), ('.sys', '.gpu'), ('ld.v4', 'ld.global.nc.v4')):
        assert order_faults(entry + entry.replace(old, new)), new
    assert wide_faults(entry.replace('v4', 'v2'))
    assert not number_faults(OPERATIONS * entry) and number_faults(entry) and number_faults('')
    assert cuda_names(['libc.so.6', 'libcuda.so.1', 'libcudart.so.13']) == ['libcuda.so.1', 'libcudart.so.13']


def main():
    build = sys.argv[1]
    architectures = sys.argv[2].split(',')
    files = [pathlib.Path(f) for f in sys.argv[3:]]
    of = {suffix: [f for f in files if f.suffix == suffix] for suffix in ('.ptxas', '.ptx')}
    linked = [f for f in files if f.suffix not in of and f.suffix != '.o']
    for source, kernel in KERNELS.items():
        reports = [f for f in of['.ptxas'] if f.name.startswith(source)]
        tap.case(f'{source}_has_no_spills_and_no_stack', of_all, reports, faults_of, kernel, architectures,
                 THREADS[source])
        tap.case(f'{source}_is_there_for_every_type', lambda: nothing(
            [] if len(reports) == TYPES else [f'{len(reports)} reports, not {TYPES}']))
        ptx = [f for f in of['.ptx'] if f.name.startswith(source)]
        tap.case(f'{source}_moves_16_bytes_at_once', of_all, ptx, wide_faults)
        tap.case(f'{source}_is_there_for_every_operation', of_all, ptx, number_faults)
    tap.case('flags_keep_their_order', of_all, [f for f in of['.ptx'] if f.name.startswith('virtual_ranks')], order_faults)
    for file in linked:
        tap.case(f'{file.name}_needs_no_cuda_to_load', needs_no_cuda, file)
    tap.case('run_says_no_gpu', run_says_no_gpu, build)
    tap.case('packed_is_small_and_whole', packed_is_small_and_whole, build)
    tap.case('pack_needs_a_build', pack_needs_a_build)
    tap.case('pack_spares_what_it_did_not_make', pack_spares_what_it_did_not_make, build)
    tap.case('pack_refuses_what_is_out_of_date', pack_refuses_what_is_out_of_date)
    tap.case('planted_mistakes_are_found', planted_mistakes_are_found)
    tap.finish()


main()
