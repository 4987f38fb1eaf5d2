#!/usr/bin/python3
"""The stages of gpu_proof on a device that the host plays (stand_in_device.cc): they pass, they see whatever it does
wrongly, and tests/gpu/run makes one report of what they write. Nothing here says anything about a GPU.

usage: stages_test.py PROGRAM"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1])
SMALL = ('probe', 'smoke_small', 'matrix_small', 'bandwidth_small', 'latency_small')
MOST_KEPT = 10      # faults, of which others are only counted
LIMIT = 60          # seconds that one start may take


def run(*arguments, plays=''):
    return subprocess.run([str(a) for a in arguments], env={**os.environ, 'TUTTI_STAND_IN': plays}, timeout=LIMIT,
                          text=True, errors='replace', stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def stage(name, plays=''):
    """(status, output, what it wrote)"""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / 'found.json'
        done = run(PROGRAM, name, '--json', file, plays=plays)
        assert [f.name for f in pathlib.Path(folder).iterdir()] == ['found.json'], done.stdout
        return done.returncode, done.stdout, json.loads(file.read_text())


def fails(name, plays, *words):
    """What it wrote, one fault of which has the words."""
    status, text, found = stage(name, plays=plays)
    assert status == 1 and any(all(word in fault for word in words) for fault in found['faults']), \
        f'{name}, {plays}: {status}\n{text}'
    return found


def passes(name):
    status, text, found = stage(name)
    assert status == 0 and found['stage'] == name and found['nfaults'] == 0 and not found['faults'], text
    return found


def probe_passes():
    facts = passes('probe')['facts']
    assert facts['device'] == 'stand-in' and facts['a first kernel'] == 'runs', facts
    assert re.fullmatch(r'\d+\.\d', facts['driver']) and facts['memory, MiB'] > 0, facts


def smoke_passes():
    found = passes('smoke_small')
    collectives, reduce_copy = found['tables']
    assert found['facts'] == {'a hang is ended by the deadline': 'yes'}, found['facts']
    assert [row[0] for row in collectives['rows']][:2] == ['ring', 'one-shot'], collectives
    assert len(collectives['rows']) == 9 and all(row[2] > 0 and row[4] == 0 for row in collectives['rows']), collectives
    assert sum(row[3] for row in collectives['rows']) > 0, collectives
    assert [row[0] for row in reduce_copy['rows']] == ['i64', 'f32', 'bf16'], reduce_copy


def matrix_passes():
    (table,) = passes('matrix_small')['tables']
    rows = [dict(zip(table['columns'], row)) for row in table['rows']]
    assert [row['ranks'] for row in rows] == [4, 2], rows
    for row in rows:
        assert row['calls'] > 500 and 0 < row['as words'] < row['calls'], row
        assert row['wrong'] == 0 and row['left out'] == 0, row


def latency_passes():
    found = passes('latency_small')
    times, aims = found['tables']
    rows = [dict(zip(times['columns'], row)) for row in times['rows']]
    algorithms = ['one-shot', 'one-shot as words', 'two-shot', 'two-shot-window', 'ring']
    wanted = []
    for ranks in (2, 4):
        wanted += [(ranks, 8, name) for name in ['launch', *algorithms]] + [(ranks, 1024, name) for name in algorithms]
        wanted += [(ranks, 131072, name) for name in algorithms if name != 'one-shot as words']
    assert [(row['ranks'], row['bytes'], row['algorithm']) for row in rows] == wanted, rows
    left_out = [note for note in found['notes'] if note.startswith('left out: one-shot as words of ')]
    assert len(left_out) == 2 and all(' from 131072 bytes on' in note for note in left_out), found['notes']
    rows = [dict(zip(aims['columns'], row)) for row in aims['rows']]
    assert [row['ranks'] for row in rows] == [2, 4], rows
    for row in rows:
        assert row['result'] == ('met' if row['words'] <= row['aim'] * row['slots'] else 'MISSED'), row
    missed = sum(row['result'] == 'MISSED' for row in rows)
    assert sum(note.startswith('aim missed') for note in found['notes']) == missed, found['notes']


def bandwidth_passes():
    found = passes('bandwidth_small')
    (table,) = found['tables']
    rows = [dict(zip(table['columns'], row)) for row in table['rows']]
    done = [(row['type'], row['sources'], row['MiB each']) for row in rows]
    # As many sources as there is memory for.
    assert done == [('f32', n, 1) for n in range(1, 9)] + [('bf16', 2, 1), ('bf16', 8, 1)] + \
        [('f32', n, 20) for n in range(1, 4)] + [('bf16', 2, 20)], done
    assert 'left out: more than 3 sources of 20 MiB; 600 MiB are free' in found['notes'], found['notes']
    missed = 0
    for row in rows:
        rates = [row[grid] for grid in ('default', 'x1', 'x2', 'x4')]
        assert all(0 < rate < 10000 for rate in [row['copy'], *rates]), row
        assert abs(row['% of copy'] - 100 * row['default'] / row['copy']) < 1e-6, row
        assert row[row['best grid']] == max(rates), row
        assert abs(row['best %'] - 100 * max(rates) / row['copy']) < 1e-6, row
        assert row['aim %'] == {2: 92, 8: 85}.get(row['sources'], ''), row
        if row['sources'] in (2, 8):
            assert row['aim'] == ('met' if row['% of copy'] >= row['aim %'] else 'MISSED'), row
            missed += row['aim'] == 'MISSED'
    assert sum(note.startswith('aim missed') for note in found['notes']) == missed, found['notes']


def bandwidth_leaves_out_what_has_no_room():
    found = passes('bandwidth')
    assert found['tables'][0]['rows'] == [] and sum(n.startswith('left out') for n in found['notes']) == 2, found


def a_wrong_bit_is_found():
    for name, nfaults in (('probe', 1), ('smoke_small', 790), ('bandwidth_small', 14)):
        status, text, found = stage(name, plays='wrong')
        assert status == 1 and found['nfaults'] == nfaults, text
        if name == 'bandwidth_small':
            assert re.search(r' MiB each, default: from byte \d+ on element \d+ is .*; 1 of 4096 elements differ',
                             found['faults'][0]), text
        assert len(found['faults']) == min(nfaults, MOST_KEPT), found
        assert text.count('FAILED: ') == len(found['faults']) + (nfaults > MOST_KEPT), text


def a_wrong_bit_of_a_collective_is_found():
    for name in ('matrix_small', 'latency_small'):
        status, text, found = stage(name, plays='wrong')
        assert status == 1 and re.search('element 0 is [0-9a-f]+, not [0-9a-f]+; 1 of', found['faults'][0]), text
        if name == 'matrix_small':
            assert all(row[4] > 500 for row in found['tables'][0]['rows']), text
        else:
            assert found['tables'][0]['rows'] == [], text


def a_lost_device_is_found():
    for name in SMALL:
        status, text, found = stage(name, plays='lost')
        assert status == 1 and 'cudaErrorUnknown' in found['faults'][0], text


def a_hang_is_found():
    status, text, found = stage('smoke_small', plays='hang')
    # Nothing is launched after it on the same links.
    assert [row[2] for row in found['tables'][0]['rows']] == [1] * 9, text
    assert status == 1 and re.search(r'waits at step 0 of round 0 after 0 of \d+ steps', found['faults'][0]), text
    assert found['facts'] == {'a hang is ended by the deadline': 'no'}, text


def a_late_deadline_is_found():
    status, text, found = stage('smoke_small', plays='late')
    assert status == 1 and found['nfaults'] == 2 and all('a hang: ' in f and 'it took' in f for f in found['faults']), text
    assert found['facts'] == {'a hang is ended by the deadline': 'no'}, text


def a_clock_that_stands_is_found():
    status, text, found = stage('latency_small', plays='still')
    assert status == 1 and found['nfaults'] == 28 and found['tables'][0]['rows'] == [], text
    assert all('a call took 0 microseconds' in fault for fault in found['faults']), text


def only_that_nothing_came_back_is_told():
    for name in SMALL:
        status, text, found = stage(name, plays='unreadable')
        assert status == 1 and all('cudaErrorUnknown' in fault for fault in found['faults']), text
        if name == 'matrix_small':
            assert 3 <= found['nfaults'] <= 4, text     # of two threads


def a_stage_in_which_everything_hangs_ends_soon():
    """Here a hang takes no time; on a device each takes as long as a deadline."""
    status, text, found = stage('matrix_small', plays='hang')
    (row,) = found['tables'][0]['rows']
    assert status == 1 and 3 <= row[1] <= 4 and row[4] == row[1], text      # of two threads
    assert found['notes'][-1].startswith('stopped: '), text
    status, text, found = stage('latency_small', plays='hang')
    assert status == 1 and found['tables'][0]['rows'] == [] and found['notes'][-1].startswith('stopped: '), text
    assert found['nfaults'] == 2, text      # the lanes of one call


def a_byte_outside_is_found():
    fails('matrix_small', 'beyond', '4 ranks, i8 sum: bytes between the buffers were written')
    fails('latency_small', 'beyond', 'one-shot all-reduce f32 sum of 2, ', ': bytes between the buffers were written')
    collectives, reduce_copy = fails('smoke_small', 'beyond', 'ring: bytes between the buffers were written')['tables']
    assert all(row[4] > 0 for row in collectives['rows']), collectives
    assert all(row[1] == row[2] > 0 for row in reduce_copy['rows']), reduce_copy


def a_written_input_is_found():
    fails('matrix_small', 'scribbling', ', the input: element 0 is ')
    fails('latency_small', 'scribbling', ', the input: element 0 is ')
    rows = fails('smoke_small', 'scribbling', ' was written')['tables'][1]['rows']
    assert all(row[1] == row[2] > 0 for row in rows), rows


def a_link_that_counts_wrongly_is_found():
    fails('smoke_small', 'miscounted', 'ring: link 0->1')
    fails('matrix_small', 'miscounted', '4 ranks, i8 sum: link 0->1')
    fails('latency_small', 'miscounted', 'one-shot all-reduce f32 sum of 2, ', ': link 0->1')


def a_lane_that_lies_is_found():
    found = fails('smoke_small', 'done', 'a hang: one-shot', '1 lanes say that they are done')
    assert found['nfaults'] == 2 and found['facts'] == {'a hang is ended by the deadline': 'no'}, found


def no_gpu_is_no_failure():
    for plays, words in (('none', 'no error'), ('undriven', 'no driver for one is installed')):
        with tempfile.TemporaryDirectory() as folder:
            done = run(PROGRAM, 'probe', '--json', pathlib.Path(folder) / 'found.json', plays=plays)
            assert done.returncode == 77 and done.stdout == f'no GPU: {words}\n', done.stdout
            assert not os.listdir(folder), os.listdir(folder)


def an_old_driver_is_a_failure():
    fails('probe', 'old', 'driver for CUDA 12.4: cudaErrorInsufficientDriver')


def a_device_that_cannot_run_it_is_a_failure():
    fails('probe', 'uncooperative', 'no cooperative launch')
    found = fails('matrix_small', 'tiny', 'no call was run at all')
    assert all(row[1] == 0 < row[3] for row in found['tables'][0]['rows']), found


def any_name_of_a_device_can_be_told():
    status, text, found = stage('probe', plays='oddly named')
    assert status == 0 and found['facts']['device'] == 'a|b\n\ufffd', found


def a_function_that_fails_fails_the_stage():
    measuring = ('bandwidth_small', 'latency_small')
    used = {
        'cudaGetDeviceCount': SMALL, 'cudaGetDeviceProperties': ['probe'], 'cudaRuntimeGetVersion': ['probe'],
        'cudaDriverGetVersion': ['probe'], 'cudaMemGetInfo': ['probe', 'bandwidth_small'],
        'cudaDeviceGetAttribute': ['probe', 'matrix_small', *measuring], 'cudaSetDevice': ['matrix_small'],
        'cudaStreamCreateWithFlags': ['matrix_small'], 'cudaStreamSynchronize': ['matrix_small'],
        'cudaDeviceSynchronize': ['probe', 'smoke_small', *measuring], 'cudaMalloc': SMALL,
        'cudaMemcpy': ['probe', 'smoke_small', *measuring], 'cudaMemcpyAsync': ['matrix_small', 'bandwidth_small'],
        'cudaMemsetAsync': ['bandwidth_small'], 'cudaEventRecord': measuring}
    for function, stages in used.items():
        for name in stages:
            fails(name, function, 'cudaErrorUnknown')
    for name in measuring:
        fails(name, 'cudaEventCreate', 'cudaEventRecord: ')
    fails('bandwidth_small', 'cudaEventElapsedTime', 'the events have no time between them')
    fails('latency_small', 'cudaEventElapsedTime', 'a call took 0 microseconds')
    assert stage('matrix_small', plays='cudaHostAlloc')[0] == 0     # any memory of the host will do


def usage_is_told():
    for arguments in ((), ('nothing',), ('probe', '--json'), ('probe', '--text', 'x'), ('probe', 'smoke')):
        done = run(PROGRAM, *arguments)
        assert done.returncode == 2 and 'usage: ' in done.stdout and '  bandwidth ' in done.stdout, done.stdout


def a_file_that_cannot_be_written():
    done = run(PROGRAM, 'probe', '--json', '/nowhere/found.json')
    assert done.returncode == 2 and 'cannot write /nowhere/found.json' in done.stdout, done.stdout


def run_makes_one_report():
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder)
        (build / 'tests' / 'gpu').mkdir(parents=True)
        shutil.copy(PROGRAM, build / 'tests' / 'gpu' / 'gpu_proof')
        done = run(pathlib.Path(__file__).with_name('run'), build, '--sanitizer', '/nowhere', '--small')
        report = json.loads((build / 'gpu-report' / 'report.json').read_text())
        text = (build / 'gpu-report' / 'report.md').read_text()
    assert done.returncode == 0, done.stdout
    assert report['machine']['device'] == 'stand-in' and report['failed'] == 0, report['machine']
    for part in ('stand-in, driver', '| smoke | passed |', '### reduceCopy against the host', '| bf16 | 240 | 0 |'):
        assert part in text, f'{part} not in:\n{text}'


for case in (probe_passes, smoke_passes, matrix_passes, bandwidth_passes, bandwidth_leaves_out_what_has_no_room,
             latency_passes, a_wrong_bit_is_found, a_wrong_bit_of_a_collective_is_found,
             a_lost_device_is_found, a_hang_is_found, a_late_deadline_is_found,
             a_clock_that_stands_is_found, a_byte_outside_is_found, a_written_input_is_found,
             a_link_that_counts_wrongly_is_found, a_lane_that_lies_is_found, no_gpu_is_no_failure,
             an_old_driver_is_a_failure, a_device_that_cannot_run_it_is_a_failure,
             any_name_of_a_device_can_be_told, a_function_that_fails_fails_the_stage,
             only_that_nothing_came_back_is_told, a_stage_in_which_everything_hangs_ends_soon,
             usage_is_told, a_file_that_cannot_be_written, run_makes_one_report):
    tap.case(case.__name__, case)
tap.finish()
