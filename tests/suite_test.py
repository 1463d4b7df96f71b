# SPDX-License-Identifier: Apache-2.0
"""tests/suite_test.py: tests that tests/suite.py counts tests correctly, and fails if a test failed or none ran."""

import contextlib
import io
import pathlib
import tempfile
import unittest
import unittest.mock

import suite
from suite import Counts, Stage

JUNIT = """<testsuite>
<testcase name="plain" status="run"/>
<testcase name="program" status="run"/>
<testcase name="failing_program" status="fail"><failure/></testcase>
<testcase name="crashed_program" status="fail"><failure/></testcase>
<testcase name="failing" status="fail"><failure/></testcase>
<testcase name="skipped" status="notrun"><skipped/></testcase>
<testcase name="not_found" status="notrun"/>
</testsuite>"""
PASSED = '<testcase status="run" result="completed"/>'
FAILED = '<testcase status="run" result="completed"><failure/></testcase>'
SKIPPED = '<testcase status="run" result="skipped"><skipped/></testcase>'
DISABLED = '<testcase status="notrun" result="suppressed"/>'


def run(*stages):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = suite.run_stages(list(stages))
    return status, out.getvalue()


class Counting(unittest.TestCase):
    def counts(self, **programs):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "ctest.xml").write_text(JUNIT)
            for program, cases in programs.items():
                (folder / f"{program}.xml").write_text(f"<testsuites>{''.join(cases)}</testsuites>")
            return suite.counts_of_ctest(folder / "ctest.xml", folder)

    def test_each_test_of_ctest_counts_once(self):
        self.assertEqual(self.counts(), Counts(passed=2, failed=4, skipped=1))

    def test_a_program_counts_as_its_cases(self):
        counts = self.counts(program=[PASSED, PASSED, SKIPPED, DISABLED], failing_program=[PASSED, FAILED])
        self.assertEqual(counts, Counts(passed=4, failed=4, skipped=2))

    def test_a_program_that_ends_badly_after_its_cases_passed_has_failed(self):
        counts = self.counts(program=[PASSED], crashed_program=[PASSED, PASSED])
        self.assertEqual(counts, Counts(passed=2, failed=4, skipped=1))


class Running(unittest.TestCase):
    def test_the_table_has_each_stage_and_the_last_line_the_sums(self):
        status, text = run(Stage("one", lambda: Counts(passed=3, retried=1)), Stage("two", lambda: Counts(passed=4)))
        self.assertEqual(status, 0)
        self.assertRegex(text, r"(?m)^one +\d+ +3 +0 +1 +0$")
        self.assertTrue(text.endswith("\n7 passed, 0 failed, 0 skipped\n"), text)

    def test_a_failure_fails_and_the_stages_after_it_run(self):
        status, text = run(Stage("one", lambda: Counts(failed=1)), Stage("two", lambda: Counts(passed=4)))
        self.assertEqual(status, 1)
        self.assertIn("4 passed, 1 failed", text)

    def test_what_a_failed_check_printed_is_said_again_before_the_table(self):
        with tempfile.TemporaryDirectory() as name, \
             unittest.mock.patch.multiple(suite, failures=[], BUILD=pathlib.Path(name)):
            fails = Stage("one", lambda: suite.check("a check", "sh", "-c", "echo the cause; exit 1"))
            _, text = run(fails, Stage("two", lambda: Counts(passed=4)))
        self.assertRegex(text, r"(?s)the cause\n.*--- FAILED: a check\nthe cause\n\nstage ")

    def test_nothing_run_is_a_failure(self):
        self.assertEqual(run(Stage("one", Counts))[0], 1)

    def test_a_failed_build_ends_the_run(self):
        def no_build():
            raise suite.BuildFailed
        status, text = run(Stage("build", no_build), Stage("two", lambda: self.fail("was run")))
        self.assertEqual(status, 1)
        self.assertIn("0 passed, 1 failed", text)

    def test_a_stage_beside_another_counts_even_if_it_raises(self):
        def breaks():
            raise OSError("no such program")
        with contextlib.redirect_stderr(io.StringIO()):
            status, text = run(Stage("one", lambda: Counts(passed=1)), Stage("two", breaks, beside=True))
        self.assertEqual(status, 1)
        self.assertIn("1 passed, 1 failed", text)


if __name__ == "__main__":
    unittest.main()
