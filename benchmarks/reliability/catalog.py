"""The campaigns by name; a module is imported when its campaign is run, for what it needs."""

CAMPAIGNS = {
    "kills": "SIGKILL at a random instant of a deploy, 1,000 times",
    "faults": "each file operation of a deploy fails once, with EIO, ENOSPC and EACCES",
    "flips": "damage to every kind of file that is kept, 10,000 times",
    "rollbacks": "300 random failures, also while they are taken back",
    "canaries": "25 secrets through every command, looked for in every output and file",
    "locks": "8 processes x 50 deploys of one project, over three kinds of back end",
    "paused": "a holder stopped past its lease goes on after somebody else, 100 times",
    "updates": "updates of npm packages, compared with clean builds, with four package managers",
    "wal": "what it costs that a result is on the disk before its task ends",
}
