"""One task of a run: decide, then restore the cached result or execute it."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from fabric.engine.memory.blobs import Blobs
from fabric.engine.memory.file_index import FileIndex
from fabric.engine.memory.memo import Memo
from fabric.engine.memory.traces import NOTHING, RemoteResults, TraceStore
from fabric.engine.output_contents import OutputContents, Upstream
from fabric.engine.output_folders import (
    is_left_unwritten,
    is_shown,
    list_visible_files,
    show,
)
from fabric.engine.output_warnings import OutputWarnings, encode_warning
from fabric.engine.result import Outcome, Status
from fabric.engine.step_outputs import (
    find_edits,
    is_restored,
    lock_outputs,
    refuse_changed_outputs,
    restore_outputs,
    settle_outputs,
)
from fabric.graph.decide import FROM_SHARED, Action, Decision
from fabric.graph.plan import Known, Memory, Plan, judge_known
from fabric.graph.traces import Trace, compute_full_key, compute_static_hash
from fabric.model.names import Digest
from fabric.model.problems import FabricError, Problem
from fabric.model.task import InputEntry, Output, OutputFile, Task
from fabric.model.task_id import TaskId, remove_target_suffix
from fabric.model.task_inputs import RECORD_KINDS
from fabric.system.clock import Clock
from fabric.system.source.names import is_plain_name
from fabric.tasks.contract import Registry, TaskResult, TaskTools, is_record_kind

if TYPE_CHECKING:
    from fabric.engine.shared.shared_cache import SharedCache

_NAMED = 3
_RESTORED = "restored from the cache"


class Stores(Struct, frozen=True):
    """The stores of a run, and its workspace."""

    workspace: Path
    trace_store: TraceStore
    blobs: Blobs
    files: FileIndex
    memo: Memo
    shared: "SharedCache | None" = None


class _Written(Struct, frozen=True):
    """The stored output of a task, with its duration and its start."""

    output: Output
    ms: int
    # On the clock of the workspace's file system.
    began_ns: int


class TaskRunner:
    """Executes single tasks, independent of order, threads and progress."""

    def __init__(
        self,
        stores: Stores,
        registry: Registry,
        clock: Clock,
        *,
        use_cache: bool = True,
        strict: bool = False,
    ) -> None:
        self._is_claimed = False
        # Warnings about steps that run again.
        self._edits: dict[TaskId, Problem] = {}
        self._stores = stores
        self._registry = registry
        self._record_kinds = {name: one for name, one in registry.items() if is_record_kind(one)}
        self._clock = clock
        self._use_cache = use_cache
        self._warner = OutputWarnings(registry, strict=strict)
        self.elsewhere = NOTHING
        self.contents = OutputContents(stores.blobs, stores.files, stores.trace_store, self._make)

    @property
    def workspace(self) -> Path:
        return self._stores.workspace

    @property
    def memory(self) -> Memory:
        return Memory(
            code=self._list_code_entries,
            traces=self._stores.trace_store.traces if self._use_cache else lambda _: (),
            look=self._stores.files,
            live=self._decide_by_record,
            at_hand=self._is_available,
            is_learned=self._stores.trace_store.is_learned,
        )

    def believe(self, elsewhere: RemoteResults) -> None:
        """Use traces from records as local ones from now on."""
        self.elsewhere = elsewhere
        together: dict[TaskId, tuple[Trace, ...]] = {}
        for task_id, traces in elsewhere.traces.items():
            name = remove_target_suffix(task_id)
            together[name] = (*together.get(name, ()), *traces)
        for name, traces in together.items():
            self._stores.trace_store.preset(name, traces)

    def _is_available(self, task: Task, decision: Decision) -> bool:
        """Return whether a cached output can be shown, or is not visible. Invisible outputs are
        rebuilt on demand."""
        stores, output = self._stores, decision.output
        if (
            output is None
            or task.id in self.elsewhere.trusted
            or self._is_left_remote(task, decision)
        ):
            return True
        shown = list_visible_files(task.inputs, output).items()
        return all(
            stores.files.digest(path) == shown_as or stores.blobs.has(one.digest, one.size)
            for one, (path, shown_as) in zip(output.files, shown, strict=False)
        )

    def _decide_by_record(self, known: Known) -> Decision | None:
        """Decide by the record, for tasks that change deployed resources."""
        kind = self._record_kinds.get(known.task.kind)
        decision = kind.judge(known) if kind else None
        if decision is None or decision.action is Action.SKIP:
            return decision
        return replace(decision, took=self._stores.trace_store.durations.ms(known.task.id))

    def changes_records(self, task: Task) -> bool:
        return task.kind in self._record_kinds

    def _list_code_entries(self, task: Task) -> tuple[InputEntry, ...]:
        kind = self._registry.get(task.kind)
        return kind.code(task) if kind else ()

    def know(self, task: Task, outcome: Outcome) -> None:
        """Remember an earlier outcome, to rebuild it if its content is lost."""
        self.contents.know_way(task, ())
        if outcome.trace:
            self._stores.trace_store.preset(task.id, (outcome.trace,))

    def decide(self, task: Task, upstream: Upstream, tools: TaskTools) -> Decision:
        self._learn_after_steps(task, upstream)
        was_claimed = self._is_claimed
        decision = self.judge(task, upstream)
        kind = self._record_kinds.get(task.kind)
        if kind is not None:
            if decision.action is Action.RUN:
                tools.go_on()
                with tools.away():
                    kind.claim(task)
                claims = task.kind in RECORD_KINDS
                self._is_claimed = was_claimed or claims
                tools.go_on()
                if claims and not was_claimed:
                    # Under the lock it may turn out that somebody else has done it.
                    decision = self.judge(task, upstream)
            return decision
        if not self._use_cache:
            return Decision(Action.RUN, "--no-cache was given", decision.key, decision.inputs)
        return decision

    def judge(self, task: Task, upstream: Upstream) -> Decision:
        """Decide a task without its lock."""
        return judge_known(task, list(_list_output_hashes(upstream)), self.memory)

    def _learn_after_steps(self, task: Task, upstream: Upstream) -> None:
        """Compare shared results with the files again, because a step can have restored some."""
        shared = self._stores.shared
        if shared is not None and any(need.inputs.shares_folder for need, _ in upstream):
            traces = tuple(shared.traces_of(task, self.memory))
            self._stores.trace_store.learn(task.id, traces)

    def recall(self, task: Task, upstream: Upstream, decision: Decision) -> Outcome | None:
        """Return the cached result and repair its files on disk; None if it is lost."""
        output = decision.output
        if output is None:
            return None
        self.contents.know_way(task, upstream)
        if task.id in self.elsewhere.trusted or self._is_there(task, output):
            return self._build_recalled(task, decision, decision.reason)
        if self._is_left_remote(task, decision):
            return self._build_recalled(task, decision, decision.reason, is_far=True)
        contents: dict[str, bytes] = {}
        for one in output.files:
            content = self.contents.find_content(task, one)
            if content is None:
                return None
            contents[one.digest] = content
        if task.inputs.shares_folder:
            traces, files = self._stores.trace_store.traces(task.id), self._stores.files
            with lock_outputs(task, files):
                edits = find_edits(task, output, traces, files)
                if edits is not None:
                    self._edits[task.id] = edits
                    return None
                restore_outputs(task, output, contents, traces, files)
        else:
            show(task.inputs, output, contents, self._stores.files)
        is_shared = decision.reason == FROM_SHARED
        return self._build_recalled(task, decision, FROM_SHARED if is_shared else _RESTORED)

    def _build_recalled(
        self, task: Task, decision: Decision, reason: str, *, is_far: bool = False
    ) -> Outcome:
        shared, trace = self._stores.shared, decision.trace
        if shared is not None and trace is not None:
            if decision.reason == FROM_SHARED:
                self._stores.trace_store.take_over(task.id, trace, is_far=is_far)
                shared.used(task, trace)
            else:
                shared.offer(task, trace)
        return Outcome(Status.SKIPPED, reason, decision.output, decision, trace=trace)

    def is_unrestored(self, task: Task, decision: Decision) -> bool:
        """Return whether a run would restore the outputs of a step, which builds read."""
        output = decision.output
        if output is None or not task.inputs.shares_folder:
            return False
        return not self._is_there(task, output)

    def _is_there(self, task: Task, output: Output) -> bool:
        if task.inputs.shares_folder:
            traces = self._stores.trace_store.traces(task.id)
            return is_restored(task, output, traces, self._stores.files)
        return not task.inputs.shown_in or is_shown(task.inputs, output, self._stores.files)

    def _is_left_remote(self, task: Task, decision: Decision) -> bool:
        """Return whether a shared output stays remote, because it was not requested."""
        trace = decision.trace
        if trace is None or not is_left_unwritten(task.inputs, self._stores.files):
            return False
        return trace.is_far or self._stores.trace_store.is_learned(task.id, trace)

    def add_warnings(self, task: Task, upstream: Upstream, outcome: Outcome) -> Outcome:
        """Add the warnings of an output, cached or new, to the outcome."""
        return self._warner.add_warnings(task, upstream, outcome)

    def warnings_of(self, plan: Plan) -> tuple[Problem, ...]:
        """Return the warnings of the outputs in a plan."""
        return self._warner.of_plan(plan)

    def run(self, task: Task, upstream: Upstream, decision: Decision, tools: TaskTools) -> Outcome:
        with ExitStack() as stack:
            if task.inputs.shares_folder:
                with tools.away():
                    stack.enter_context(lock_outputs(task, self._stores.files))
            return self._run(task, upstream, decision, tools)

    def _run(self, task: Task, upstream: Upstream, decision: Decision, tools: TaskTools) -> Outcome:
        self.contents.know_way(task, upstream)
        begin, began_ns = self._clock.monotonic(), self._stores.files.now_ns()
        made = self._make(task, upstream, tools)
        if task.kind == "build":
            refuse_changed_outputs(task, upstream, self._stores.files)
        output = self._keep(task, made)
        if task.inputs.shares_folder:
            settle_outputs(self._stores.files)
        ms = made.took_ms or round((self._clock.monotonic() - begin) * 1000)
        trace, moved = self._remember(task, upstream, made, _Written(output, ms, began_ns))
        return Outcome(
            Status.RAN,
            decision.reason,
            output,
            decision,
            ms,
            warnings=(*self._list_edits(task), *made.warnings, *_find_moved(task, made, moved)),
            trace=trace,
        )

    def _list_edits(self, task: Task) -> tuple[Problem, ...]:
        edits = self._edits.pop(task.id, None)
        return () if edits is None else (edits,)

    def _make(self, task: Task, upstream: Upstream, tools: TaskTools) -> TaskResult:
        outputs = {need.id: output for need, output in upstream}
        return self._registry[task.kind].run(task, outputs, tools)

    def _keep(self, task: Task, made: TaskResult) -> Output:
        """Store the content first, then write the visible files."""
        contents: dict[str, bytes] = {}
        files = []
        _refuse_bad_names(task, made)
        for one in made.files:
            digest = self._stores.blobs.put(one.content)
            contents[digest] = one.content
            files.append(OutputFile(one.path, digest, len(one.content), executable=one.executable))
        facts = (*made.facts, *map(encode_warning, made.warnings))
        output = Output(made.digest, tuple(files), facts)
        show(task.inputs, output, contents, self._stores.files)
        return output

    def _remember(
        self, task: Task, upstream: Upstream, made: TaskResult, result: _Written
    ) -> tuple[Trace | None, tuple[str, ...]]:
        """Keep the trace, unless an input moved while the task ran."""
        files = self._stores.files
        in_part = {one.file for one in made.seen.rows}
        looked_at, moved = files.after((*made.read, *in_part), result.began_ns, made.before)
        if moved or not made.keep:
            return None, moved
        read = tuple(pair for pair in looked_at if pair[0] not in in_part)
        rows = files.rows(made.seen.rows)
        entries = (*self._list_code_entries(task), *task.inputs.entries())
        pairs = tuple(sorted(_list_output_hashes(upstream)))
        static = compute_static_hash(task.kind, entries)
        trace = Trace(
            static=static,
            entries=entries,
            files=read,
            absent=tuple(sorted(set(made.seen.absent))),
            listings=made.listings,
            upstream=pairs,
            links=made.seen.links,
            key=compute_full_key(static, read, pairs, rows),
            output=result.output,
            ms=result.ms,
            rows=rows,
        )
        self._stores.trace_store.remember(task.id, trace)
        if self._stores.shared is not None:
            self._stores.shared.offer(task, trace)
        return trace, ()


def _list_output_hashes(upstream: Upstream) -> Iterator[tuple[TaskId, Digest]]:
    return ((remove_target_suffix(need.id), output.digest) for need, output in upstream)


def _find_moved(task: Task, made: TaskResult, moved: Sequence[str]) -> tuple[Problem, ...]:
    """Warn of a tool that writes its own inputs, because it would run every time."""
    named = sorted(set(moved) & set(dict(made.before)))
    if not named:
        return ()
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return (
        Problem(
            "build/input-moved",
            f"the result is not cached: {', '.join(named[:_NAMED])}{more} changed while it ran",
            hint="add files that the task writes to "
            + ("its `outputs`" if task.inputs.shares_folder else ".fabricignore or `build.ignore`"),
        ),
    )


def _refuse_bad_names(task: Task, made: TaskResult) -> None:
    """Reject output names that could mean another directory, because a cached result would be
    refused."""
    bad = [one.path for one in made.files if not is_plain_name(one.path)]
    if bad:
        raise FabricError(
            Problem(
                "build/bad-name",
                f"{task.id} created a file with a name that archives cannot contain: {bad[0]!a}",
                hint="use relative UTF-8 names without backslashes and control characters",
            )
        )
