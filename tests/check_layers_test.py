"""tools/check_layers accepts the real tree and names each kind of planted violation."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(root):
    command = [sys.executable, str(ROOT / "tools" / "check_layers"), "--root", str(root)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class CheckLayersTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        shutil.copytree(ROOT / "src", self.root / "src")

    def plant(self, path, text):
        file = self.root / "src" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def assert_rejected(self, message):
        result = run(self.root)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn(message, result.stdout)

    def test_accepts_the_real_tree(self):
        result = run(ROOT)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)

    def test_accepts_a_module_above(self):
        self.plant("predict/planted.h", '#pragma once\n#include "base/result.h"\n#include "predict/other.h"\n')
        self.assertEqual(run(self.root).stdout, "")

    def test_rejects_a_module_below(self):
        self.plant("base/planted.h", '#pragma once\n\n#include "hardware/device.h"\n')
        self.assert_rejected(
            'src/base/planted.h:3: "hardware/device.h": base may not include hardware, '
            "which comes after it in the data flow"
        )

    def test_rejects_mutual_includes(self):
        self.plant("env/planted.h", '#include "trace/a.h"\n')
        self.plant("trace/a.h", '#include "env/b.h"\n')
        self.assert_rejected("env and trace include each other (see src/trace/a.h:1)")

    def test_rejects_an_unknown_module(self):
        self.plant("attic/planted.h", "#pragma once\n")
        self.assert_rejected("src/attic: unknown module")

    def test_rejects_a_header_without_a_module(self):
        self.plant("env/planted.cpp", '#include "clock.h"\n')
        self.assert_rejected('src/env/planted.cpp:1: "clock.h" names no module')

    def test_keeps_libraries_in_their_modules(self):
        for path, header, message in [
            ("predict/planted.cpp", "torch/torch.h", "torch belongs only to profile and predict/neural"),
            ("cli/planted.cpp", "boost/beast/http.hpp", "Boost.Beast belongs only to api"),
            ("plan/planted.cpp", "sqlite3.h", "SQLite belongs only to control"),
            ("schedule/planted.cpp", "coin/CbcModel.hpp", "CBC belongs only to plan"),
        ]:
            with self.subTest(header):
                self.plant(path, f"#include <{header}>\n")
                self.assert_rejected(f"src/{path}:1: <{header}>: {message}")

    def test_lets_libraries_into_their_modules(self):
        self.plant("predict/neural/planted.cpp", "#include <torch/torch.h>\n")
        self.plant("control/planted.cpp", "#include <sqlite3.h>\n")
        self.assertEqual(run(self.root).stdout, "")

    def plant_lab(self, uses, text):
        (self.root / "lab").mkdir()
        (self.root / "lab" / "uses.txt").write_text(uses, encoding="utf-8")
        (self.root / "lab" / "planted.h").write_text(text, encoding="utf-8")

    def test_keeps_src_away_from_the_lab(self):
        self.plant("predict/planted.h", '#include "lab/planted.h"\n')
        self.assert_rejected('src/predict/planted.h:1: "lab/planted.h" names no module')

    def test_lets_the_lab_use_what_is_listed(self):
        self.plant_lab("# headers\nbase/result.h\n", '#include "base/result.h"\n#include "lab/other.h"\n')
        self.assertEqual(run(self.root).stdout, "")

    def test_rejects_what_the_lab_does_not_list(self):
        self.plant_lab("base/text.h\n", '#include "base/result.h"\n')
        self.assert_rejected('lab/planted.h:1: "base/result.h" is not in lab/uses.txt')
        self.assert_rejected("lab/uses.txt: nothing in the lab includes base/text.h any more")

    def test_says_when_there_is_no_tree(self):
        result = run(self.root / "nowhere")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no such folder", result.stdout)


if __name__ == "__main__":
    unittest.main()
