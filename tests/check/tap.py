# SPDX-License-Identifier: Apache-2.0
"""Test results in the Test Anything Protocol."""
import sys


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def ok(self, name, problems):
        """A test passes if its list of problems is empty."""
        problems = list(problems)
        self.count += 1
        self.failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {self.count} - {name}")
        for problem in problems:
            print(f"# {problem}")

    def done(self):
        print(f"1..{self.count}")
        sys.exit(self.failed > 0)
