"""What changes in a file is shown with the lines around it, and without its secrets."""

from fabric.scaffold.file_diff import format_file_diff


def test_added_lines_are_shown_with_context() -> None:
    old = "".join(f"{number}\n" for number in range(1, 10))
    new = old.replace("5\n", "5\nx\ny\n")
    rows = format_file_diff("a.yml", old, new).split("\n")
    assert rows[:3] == ["--- a/a.yml", "+++ b/a.yml", "@@ -3,6 +3,8 @@"]
    assert rows[3:] == [" 3", " 4", " 5", "+x", "+y", " 6", " 7", " 8"]


def test_changed_line_is_removed_and_added() -> None:
    rows = format_file_diff("a.yml", "a: []", "a: [b]").split("\n")
    open_end = "\\ No newline at end of file"
    assert rows[2:] == ["@@ -1,1 +1,1 @@", "-a: []", open_end, "+a: [b]", open_end]


def test_secrets_of_the_file_are_hidden() -> None:
    old = "env:\n  API_TOKEN: hunter2\nb: 1\n"
    diff = format_file_diff("/x/a.yml", old, old + "c: 2\n")
    assert "+++ b/x/a.yml" in diff
    assert "hunter2" not in diff
    assert "  API_TOKEN:" in diff


def test_a_new_file_has_no_old_side() -> None:
    assert format_file_diff("a.py", None, "x\n").split("\n") == [
        "--- /dev/null",
        "+++ b/a.py",
        "@@ -0,0 +1,1 @@",
        "+x",
    ]
