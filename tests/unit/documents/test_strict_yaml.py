"""The text of a file: YAML that surprises is refused, and never reinterpreted (C13, X18)."""

from pathlib import Path

import pytest

from rescheduler import config
from tests.unit.config.samples import text_problems

HEAD = "apiVersion: rescheduler.io/v1alpha1\nkind: ReschedulerConfiguration\n"

BILLION_LAUGHS = "a: &a [x]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)

REFUSED = [
    ("", "", "empty"),
    ("# only a comment\n", "", "empty"),
    ("null", "", "expected a mapping with apiVersion: rescheduler.io/v1alpha1"),
    ("- a", "", "found a list"),
    ("text", "", 'found the string "text"'),
    (HEAD + "---\n" + HEAD, "line 3, column 1", "a second YAML document"),
    (HEAD + "cpuThreshold: 1\ncpuThreshold: 2\n", "cpuThreshold", "line 4, first on line 3"),
    (HEAD + "scope:\n  nodeSelector: a\n  nodeSelector: a\n", "scope.nodeSelector", "line 5"),
    (HEAD + "scope:\n\tnodeSelector: a\n", "line 4, column 1", "'\\t'"),
    (HEAD + "scope: {", "line 3, column 9", "not valid YAML"),
    (HEAD + "scope: &a {}\nmigration: *a\n", "migration", "aliases are not accepted"),
    (HEAD + "cpuThreshold: !!float 80\n", "cpuThreshold", "tags are not accepted"),
    (HEAD + "scope: !!python/object:os.system x\n", "scope", "tags are not accepted"),
    (HEAD + "? [a]\n: b\n", "line 3, column 3", "field names must be plain"),
    (HEAD + "scope: " + "[" * 500_000, "line 3, column 72", "nested deeper than 64 levels"),
    (HEAD + '"\\UFFFFFFFF": 1', "", "not valid YAML"),
    (HEAD + "cpuThreshold: \x00", "", "not valid YAML"),
    ("%YAML " + "9" * 5000 + ".1\n---\na", "", "not valid YAML"),
    (HEAD + "#" * 2**20, "", "larger than 1048576 bytes"),
    (HEAD + "<<: {cpuThreshold: 5}", '["<<"]', "unknown field"),
    (HEAD + "cpuThreshold: 1_0", "cpuThreshold", 'the string "1_0"'),
    (HEAD + "cpuThreshold: 1:30", "cpuThreshold", 'the string "1:30"'),
    (HEAD + "cpuThreshold: 017", "cpuThreshold", 'the string "017"'),
    (HEAD + "cpuThreshold: 0o17", "cpuThreshold", 'the string "0o17"'),
    (HEAD + "cpuThreshold: 0x1F", "cpuThreshold", 'the string "0x1F"'),
    (HEAD + "cpuThreshold: 8e1", "cpuThreshold", 'the string "8e1"'),
    (HEAD + "cpuThreshold: 2026-01-01", "cpuThreshold", 'the string "2026-01-01"'),
    (HEAD + "cpuThreshold: .nan", "cpuThreshold", "found nan"),
    (HEAD + "cpuThreshold: .inf", "cpuThreshold", "found inf"),
    (HEAD + "cpuThreshold: -.INF", "cpuThreshold", "found -inf"),
    (HEAD + "cpuThreshold: 1.0e+999", "cpuThreshold", "found inf"),
    (HEAD + "cpuThreshold: " + "9" * 5000, "cpuThreshold", "found inf"),
    (HEAD + "leaderElection: {leaderElect: yes}", "leaderElection.leaderElect", '"yes"'),
    (HEAD + "leaderElection: {leaderElect: off}", "leaderElection.leaderElect", '"off"'),
]


@pytest.mark.parametrize(("text", "path", "part"), REFUSED)
def test_refused_text(text: str, path: str, part: str) -> None:
    ((found_path, message),) = text_problems(text)
    assert found_path == path
    assert part in message


def test_aliases_are_refused_without_being_expanded() -> None:
    messages = [message for _, message in text_problems(HEAD + BILLION_LAUGHS)]
    assert sum("aliases" in message for message in messages) == 8 * 9


def test_yaml_problems_do_not_hide_the_others_nor_count_twice() -> None:
    text = HEAD + "migration: &m {settle: 1s}\nscope: *m\ncpuTreshold: 1\ncpuThreshold: !x 1\n"
    assert [path for path, _ in text_problems(text)] == ["scope", "cpuTreshold", "cpuThreshold"]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + HEAD + "cpuThreshold: 70",
        (HEAD + "cpuThreshold: 70\n").replace("\n", "\r\n"),
        "---\n" + HEAD + "cpuThreshold: 70\n...\n",
        HEAD + "cpuThreshold: +70.0\n",
        HEAD + "cpuThreshold: 7.0e+1\n",
        HEAD + "scope: &unused {}\ncpuThreshold: 70\n",
    ],
)
def test_accepted_text(text: str) -> None:
    assert config.parse(text).cpu_threshold_percent == 70


def test_words_that_old_yaml_takes_for_booleans_are_strings() -> None:
    text = HEAD + "excludedNamespaces: [yes, no, on, off, y, n, 017, 1e3]"
    expected = ("yes", "no", "on", "off", "y", "n", "017", "1e3")
    assert config.parse(text).excluded_namespaces == expected


WRONG_TYPES = [
    (
        "apiVersion: v1\nkind: ConfigMap",
        {
            "apiVersion": 'expected "rescheduler.io/v1alpha1" or "kubescheduler.config.k8s.io/v1"',
            "kind": 'expected "ReschedulerConfiguration" or "KubeSchedulerConfiguration"',
        },
    ),
    (
        "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration",
        {"apiVersion": 'expected "kubescheduler.config.k8s.io/v1", found'},
    ),
    (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: ReschedulerConfiguration",
        {"apiVersion": 'expected "rescheduler.io/v1alpha1", found'},
    ),
    (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: Configuration",
        {"kind": 'expected "KubeSchedulerConfiguration", found'},
    ),
    (
        "apiVersion: rescheduler.io/v1\nkind: [x]",
        {
            "apiVersion": 'expected "rescheduler.io/v1alpha1", found the string',
            "kind": 'expected "ReschedulerConfiguration", found a list',
        },
    ),
    ("kind: ReschedulerConfiguration", {"apiVersion": "missing"}),
    ("apiVersion: rescheduler.io/v1alpha1", {"kind": "missing"}),
]


@pytest.mark.parametrize(("text", "expected"), WRONG_TYPES)
def test_wrong_type_of_document(text: str, expected: dict[str, str]) -> None:
    found = dict(text_problems(text))
    assert list(found) == list(expected)
    assert all(found[path].startswith(message) for path, message in expected.items())


def refusal_of(path: Path | str) -> str:
    with pytest.raises(config.ConfigurationError) as caught:
        config.load(path)
    return str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    missing = tmp_path / "missing.yaml"
    assert refusal_of(missing) == f"{missing}: cannot be read: No such file or directory"
    assert refusal_of(tmp_path) == f"{tmp_path}: cannot be read: Is a directory"
    assert "cannot be read: embedded null byte" in refusal_of("a\0b")


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"kind: \xff", "not UTF-8 text, from byte 7 on"),
        (HEAD.encode("utf-16"), "not UTF-8 text"),
        ("\u20ac".encode() * 400_000, "larger than 1048576 bytes"),
        (b"cpuTreshold: 1", "cpuTreshold"),
    ],
)
def test_files_with_wrong_content(tmp_path: Path, content: bytes, part: str) -> None:
    path = tmp_path / "file.yaml"
    path.write_bytes(content)
    assert all(line.startswith(f"{path}: ") for line in refusal_of(path).splitlines())
    if part != "cpuTreshold":
        assert part in refusal_of(path)
