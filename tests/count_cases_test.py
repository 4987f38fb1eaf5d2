#!/usr/bin/python3
"""tools/count_cases against logs as Meson writes them: passed, failed and skipped cases of each kind of test, and the
failures that Meson's JUnit file does not show (out of time, a crash after the last case, no case at all)."""
import json
import pathlib
import subprocess
import sys
import tempfile

import tap

SUITES = {
    'two_pass': '<testsuite name="tutti.tutti:unit / two_pass.Ring"><testcase name="a" status="run"/>'
                '<testcase name="b" status="run"/></testsuite>',
    'one_skips': '<testsuite name="tutti.tutti:unit / one_skips.Ring"><testcase name="a" status="run">'
                 '<skipped message="file.cc:7&#x0A;&#x0A;no CUDA device"/></testcase></testsuite>',
    'one_fails': '<testsuite name="tutti.tutti:unit / one_fails.Ring"><testcase name="a" status="run"/>'
                 '<testcase name="b" status="run"><failure message="1 is not 2"/></testcase></testsuite>',
    'disabled': '<testsuite name="tutti.tutti:unit / disabled.Ring">'
                '<testcase name="DISABLED_a" status="notrun"/></testsuite>',
    'tap': '<testsuite name="tutti.tutti:api / tap"><testcase name="1 first"/><testcase name="2 second"><skipped/>'
           '<system-out>no network</system-out></testcase></testsuite>',
    'plain': '<testsuite name="tutti"><testcase name="tutti:api / plain"/></testsuite>',
}


def count(runs, *options, suites=None):
    """Status and output of count_cases over one build whose tests ended as `runs` says."""
    with tempfile.TemporaryDirectory() as directory:
        build = pathlib.Path(directory) / 'build'
        logs = build / 'meson-logs'
        logs.mkdir(parents=True)
        text = ''.join(SUITES[name] for name in (runs if suites is None else suites))
        (logs / 'testlog.junit.xml').write_text(f'<testsuites>{text}</testsuites>')
        lines = [json.dumps({'name': f'tutti:unit / {name}', 'result': result, 'returncode': 0, 'duration': 1.0,
                             'stdout': f'output of {name}'}) for name, result in runs.items()]
        (logs / 'testlog.json').write_text('\n'.join(lines))
        skips = pathlib.Path(directory) / 'skips.txt'
        skips.write_text('# comment\none_skips Ring.a | no CUDA device\n')
        arguments = [str(skips) if option == 'SKIPS' else option for option in options]
        done = subprocess.run([tool, *arguments, str(build)], stdout=subprocess.PIPE, text=True)
        return done.returncode, done.stdout


def expect(last_line, status, part, *arguments, **named):
    got_status, text = count(*arguments, **named)
    assert text.splitlines()[-1] == last_line and got_status == status and part in text, f'{got_status}\n{text}'


tool = pathlib.Path(sys.argv[1]) / 'tools' / 'count_cases'
tap.case('passed', expect, '2 passed, 0 failed, 0 skipped', 0, '', {'two_pass': 'OK'})
tap.case('failed', expect, '1 passed, 1 failed, 0 skipped', 1, '1 is not 2', {'one_fails': 'FAIL'})
tap.case('skipped', expect, '0 passed, 0 failed, 1 skipped', 0, 'one_skips Ring.a | no CUDA device', {'one_skips': 'OK'})
tap.case('disabled_is_skipped', expect, '0 passed, 0 failed, 1 skipped', 0, '', {'disabled': 'OK'})
tap.case('tap', expect, '1 passed, 0 failed, 1 skipped', 0, 'tap second | no network', {'tap': 'OK'})
tap.case('plain_program', expect, '1 passed, 0 failed, 0 skipped', 0, '', {'plain': 'OK'})
tap.case('out_of_time', expect, '0 passed, 1 failed, 0 skipped', 1, 'TIMEOUT', {'plain': 'TIMEOUT'})
tap.case('crash_after_last_case', expect, '2 passed, 1 failed, 0 skipped', 1, 'output of two_pass', {'two_pass': 'FAIL'})
tap.case('no_case_ran', expect, '0 passed, 1 failed, 0 skipped', 1, 'no case ran', {'two_pass': 'OK'}, suites=[])
tap.case('problem', expect, '2 passed, 1 failed, 0 skipped', 1, 'build: compile', {'two_pass': 'OK'},
         '--problem', 'build: compile')
tap.case('listed_skip', expect, '0 passed, 0 failed, 1 skipped', 0, '', {'one_skips': 'OK'}, '--skips', 'SKIPS')
tap.case('unlisted_skip', expect, '0 passed, 1 failed, 2 skipped', 1, 'not listed:  disabled Ring.DISABLED_a',
         {'one_skips': 'OK', 'disabled': 'OK'}, '--skips', 'SKIPS')
tap.case('listed_but_ran', expect, '2 passed, 1 failed, 0 skipped', 1, 'listed but not skipped:  one_skips',
         {'two_pass': 'OK'}, '--skips', 'SKIPS')
tap.finish()
