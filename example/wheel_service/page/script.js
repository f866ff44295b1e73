// The live page: draws what the stream of events tells, and sends what the forms hold.
// Whatever comes from the service is shown as text, never read as HTML.

const api = "api/timingwheel/";
const slotsPerRing = 256;
const remembered = 120_000; // ms that the charts show
const byId = (id) => document.getElementById(id);

const number = (value) => value.toLocaleString("en");

const stateName = (state) => state.replace("_", " ");

function span(ms) {
    const units = [["ms", 1], ["s", 1000], ["min", 60_000], ["h", 3_600_000], ["d", 86_400_000]];
    const [name, size] = units.findLast(([, size]) => ms >= size || size === 1);
    const value = ms / size;
    return `${number(Number(value.toFixed(name !== "ms" && value < 100 ? 1 : 0)))} ${name}`;
}

// With the date, unless it is today.
function timeText(ms) {
    const time = new Date(ms);
    const isToday = time.toDateString() === new Date().toDateString();
    return isToday ? time.toLocaleTimeString() : time.toLocaleString();
}

function element(name, properties = {}, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
}

function drawing(name, attributes) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes))
        made.setAttribute(key, value);
    return made;
}

// Leaves the document alone where nothing has changed.
function setText(target, text) {
    if (target.textContent !== text)
        target.textContent = text;
}

function say(text) {
    byId("message").textContent = text;
}

// The connection

let source = null;
let lastEvent = 0;
let isLost = false;

function connect() {
    lastEvent = performance.now();
    source?.close();
    source = new EventSource(api + "events");
    source.onmessage = (message) => receive(JSON.parse(message.data));
    source.onerror = disconnected;
}

// A browser gives up for good on some errors: connecting is done here, once a second.
function disconnected() {
    source.close();
    isLost = true;
    showConnection("lost", "Not connected",
        "The connection to the service is lost. Trying again…");
    setTimeout(connect, 1000);
}

function receive(event) {
    lastEvent = performance.now();
    if (isLost)
        say("Connected again.");
    isLost = false;
    if (event.stopping) {
        showConnection("lost", "Stopping",
            "The service is stopping: it takes no new tasks, and lets the running ones end.");
    } else {
        showConnection("live", "Live", "");
    }
    showWheel(event.rings, event.stats);
    showStates(event);
    showCharts(event.execution);
    showLatest(event.latest);
    taskList.follow(event.stats);
}

function showConnection(state, text, banner) {
    byId("connection").dataset.state = state;
    setText(byId("connection"), text);
    setText(byId("banner"), banner);
    byId("banner").hidden = banner === "";
}

// A connection may also fall silent.
setInterval(() => {
    if (source.readyState !== EventSource.CLOSED && performance.now() - lastEvent > 5000)
        disconnected();
}, 1000);

// The wheel: a ring for each level, the coarsest inside.

const rings = [[152, 192], [106, 146], [60, 100]].map(([from, to]) => {
    const slots = [];
    for (let i = 0; i !== slotsPerRing; ++i) {
        const slot = drawing("line", {
            y1: -from, y2: -to, "stroke-width": from * 2 * Math.PI / slotsPerRing * 0.85,
            transform: `rotate(${i * 360 / slotsPerRing})`
        });
        slots.push(slot);
        byId("slots").append(slot);
    }
    const hand = drawing("path", {d: `M0 ${-from}V${-to}m-4 -5h8l-4 6z`});
    byId("hands").append(hand);
    return {slots, counts: new Array(slotsPerRing).fill(0), hand, turned: null};
});

function occupancyLevel(count) {
    return [1, 2, 10, 100].filter((least) => count >= least).length;
}

function showWheel(shown, stats) {
    const rows = byId("rings").tBodies[0].rows;
    rings.forEach((ring, level) => {
        shown.slots[level].forEach((count, i) => {
            if (ring.counts[i] !== count)
                ring.slots[i].dataset.level = occupancyLevel(count);
        });
        ring.counts = shown.slots[level];
        // Hands only go forward, also where they begin another round.
        const hand = shown.hands[level];
        ring.turned ??= hand;
        ring.turned += (hand - ring.turned % slotsPerRing + slotsPerRing) % slotsPerRing;
        ring.hand.style.transform = `rotate(${ring.turned * 360 / slotsPerRing}deg)`;
        const slot = stats.tickDuration * slotsPerRing ** level;
        const [slotCell, roundCell, tasksCell] = rows[level].querySelectorAll("td");
        setText(slotCell, span(slot));
        setText(roundCell, span(slot * slotsPerRing));
        setText(tasksCell, number(ring.counts.reduce((sum, count) => sum + count, 0)));
    });
    setText(rows[3].cells[2], number(shown.beyond));
    setText(byId("wheel-pending"), number(stats.tasks.waiting));
}

// The numbers

function showStates({stats, execution, connections}) {
    const counts = {
        waiting: stats.tasks.waiting, running: stats.tasks.running, ...execution.outcomes
    };
    for (const [state, count] of Object.entries(counts)) {
        let tile = byId("count-" + state);
        if (!tile) {
            tile = element("dd", {id: "count-" + state});
            byId("states").append(
                element("div", {}, element("dt", {textContent: stateName(state)}), tile));
        }
        setText(tile, number(count));
    }
    setText(byId("facts"), `${number(stats.added)} tasks added, ${number(stats.queued)} queued ` +
        `for a worker, ${number(stats.skipped)} runs skipped, ${number(connections)} connections`);
}

function showLatest(tasks) {
    byId("latest").replaceChildren(...tasks.map((task) => {
        const state = element("span",
            {className: "state-" + task.state, textContent: stateName(task.state)});
        const rest = [timeText(task.finishedAt)];
        if (task.duration !== undefined)
            rest.push("took " + span(task.duration));
        if (task.schedule)
            rest.push("by schedule " + task.schedule);
        if (task.error)
            rest.push(task.error);
        return element("li", {}, `${task.id} ${task.type} `, state, ", " + rest.join(", "));
    }));
}

// The charts

let samples = [];

function showCharts(execution) {
    const now = performance.now();
    if (samples.length !== 0 && execution.total < samples.at(-1).total)
        samples = []; // another service has taken over
    const before = samples.findLast((sample) => sample.at <= now - 1000) ?? samples[0];
    const seconds = before ? (now - before.at) / 1000 : 0;
    samples.push({
        at: now,
        total: execution.total,
        rate: seconds >= 0.2 ? (execution.total - before.total) / seconds : 0,
        half: execution.lateness.p50,
        most: execution.lateness.p99
    });
    samples = samples.filter((sample) => sample.at >= now - remembered);
    showChart(byId("throughput"), now, ["rate"]);
    showChart(byId("lateness"), now, ["half", "most"]);
}

function showChart(figure, now, names) {
    const highest = Math.max(...samples.flatMap((sample) => names.map((name) => sample[name])));
    const power = 10 ** Math.floor(Math.log10(Math.max(highest, 1)));
    const top = [1, 2, 5, 10].map((step) => step * power).find((value) => value >= highest);
    setText(figure.querySelector(".top"), number(top));
    const lines = figure.querySelectorAll("path");
    const outputs = figure.querySelectorAll("output");
    names.forEach((name, i) => {
        let path = "";
        let last = -Infinity;
        for (const sample of samples) {
            const x = 480 * (1 - (now - sample.at) / remembered);
            const y = 99 - 97 * sample[name] / top;
            path += `${sample.at - last > 2000 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
            last = sample.at;
        }
        lines[i].setAttribute("d", path);
        setText(outputs[i], number(Number(samples.at(-1)[name].toFixed(1))));
    });
}

// Requests

async function call(method, path, body) {
    let answer, content;
    try {
        answer = await fetch(api + path, {method, body: body && JSON.stringify(body)});
        content = await answer.json();
    } catch {
        throw new Error("The service can't be reached.");
    }
    if (!answer.ok)
        throw Object.assign(new Error(content.error.message), {field: content.error.field});
    return content;
}

// Calls that only keep a list up to date need not tell why they failed: the banner does.
async function callQuietly(path) {
    try {
        return await call("GET", path);
    } catch {
        return null;
    }
}

function handleForm(id, send) {
    const form = byId(id);
    const error = byId(id + "-error");
    const mark = (field, isWrong) => {
        field.ariaInvalid = isWrong ? "true" : null;
        const hints = (field.getAttribute("aria-describedby") ?? "").split(" ");
        const others = hints.filter((hint) => hint && hint !== error.id);
        field.setAttribute("aria-describedby", others.concat(isWrong ? error.id : []).join(" "));
        if (isWrong)
            field.focus();
    };
    form.addEventListener("submit", async (submitted) => {
        submitted.preventDefault();
        const values = {};
        const fields = [...form.elements].filter((field) => field.name);
        for (const field of fields) {
            mark(field, false);
            if (!field.disabled && field.value !== "")
                values[field.name] = field.type === "number" ? field.valueAsNumber : field.value;
        }
        error.textContent = "";
        say("");
        try {
            say(await send(values));
        } catch (problem) {
            error.textContent = problem.message;
            const wrong = fields.find((field) => field.name === problem.field);
            if (wrong)
                mark(wrong, true);
        }
    });
}

handleForm("sample", async (values) => {
    const {taskId, delay} = await call("POST", "tasks/sample", values);
    return `Task ${taskId} is added: it runs in ${span(delay)}.`;
});

handleForm("batch", async (values) => {
    const {count} = await call("POST", "tasks/batch", values);
    return `${number(count)} tasks are added.`;
});

handleForm("stress", async (values) => {
    const {taskCount, creationTime, throughput} = await call("POST", "stress-test", values);
    return `${number(taskCount)} tasks are added in ${number(Math.ceil(creationTime))} ms, ` +
        `${number(Math.round(throughput))} per second.`;
});

handleForm("schedule", async ({key, ...values}) => {
    await call("PUT", "schedules/" + encodeURIComponent(key), values);
    scheduleList.refresh();
    return `Schedule ${key} is saved.`;
});

function showScheduleFields() {
    for (const part of byId("schedule").querySelectorAll("[data-by]")) {
        part.hidden = part.dataset.by !== byId("schedule-by").value;
        for (const field of part.querySelectorAll("input"))
            field.disabled = part.hidden;
    }
}

byId("schedule-by").addEventListener("change", showScheduleFields);

// Lists. A row stays the same element as long as its item is shown, so that it keeps the focus.

function showRows(table, items, nameOf, makeRow, updateRow) {
    const body = table.tBodies[0];
    const old = new Map([...body.rows].map((row) => [row.dataset.name, row]));
    const focused = [...body.rows].findIndex((row) => row.contains(document.activeElement));
    items.forEach((item, i) => {
        const name = nameOf(item);
        const row = old.get(name) ?? makeRow(item);
        row.dataset.name = name;
        old.delete(name);
        updateRow(row, item);
        if (body.rows[i] !== row)
            body.insertBefore(row, body.rows[i] ?? null);
    });
    const isFocusLost = [...old.values()].some((row) => row.contains(document.activeElement));
    old.forEach((row) => row.remove());
    if (isFocusLost) {
        const nearest = body.rows[Math.min(focused, body.rows.length - 1)];
        (nearest?.querySelector("button") ?? table).focus();
    }
}

const cell = (properties, ...children) => element("td", properties, ...children);

// Asks what the button of a row is for, and tells how it went.
function handleRowButtons(table, act) {
    table.tabIndex = -1; // takes the focus when its last row goes
    table.addEventListener("click", async ({target}) => {
        if (!(target instanceof HTMLButtonElement))
            return;
        try {
            say(await act(target.closest("tr").dataset.name));
        } catch (problem) {
            say(problem.message);
        }
    });
}

const taskList = {
    table: byId("tasks"),
    pageSize: 25,
    most: 1000, // that one request may ask for
    limit: 25,
    tasks: [],
    fetchedAt: 0,
    counters: "",

    // Fetches again when the service has done something, twice a second at most.
    follow(stats) {
        const counters = JSON.stringify(stats);
        if (counters !== this.counters && performance.now() - this.fetchedAt > 450) {
            this.counters = counters;
            this.refresh();
        } else {
            this.show();
        }
    },

    async refresh() {
        const state = byId("filter").value;
        const path = `tasks?limit=${this.limit}` + (state && `&state=${state}`);
        this.asked = path;
        const found = await callQuietly(path);
        if (!found)
            this.counters = ""; // to try again
        if (!found || this.asked !== path)
            return; // or something else is to be shown by now
        this.tasks = found.tasks;
        this.fetchedAt = performance.now();
        const isAll = !found.next || this.limit === this.most;
        if (isAll && document.activeElement === byId("more"))
            this.table.focus();
        byId("more").hidden = isAll;
        const more = found.next ? "; there may be more" : "";
        setText(this.table.caption, this.tasks.length === 0 ? "None" :
            `${number(this.tasks.length)} in order of number${more}`);
        this.show();
    },

    show() {
        const passed = performance.now() - this.fetchedAt;
        showRows(this.table, this.tasks, (task) => task.id, this.makeRow,
            (row, task) => this.updateRow(row, task, passed));
    },

    makeRow({id}) {
        return element("tr", {}, element("th", {scope: "row"}), cell(),
            cell({className: "remaining"}, element("span"),
                element("progress", {ariaLabel: "Progress of task " + id})),
            cell({className: "amount minor"}),
            cell({}, element("button",
                {type: "button", textContent: "Cancel", ariaLabel: "Cancel task " + id})));
    },

    updateRow(row, task, passed) {
        const isWaiting = task.state === "waiting";
        const remaining = Math.max(task.remaining - passed, 0);
        const whole = task.repeat && task.runs !== 0 ? task.repeat : task.delay;
        const [name, state, progress, runs, action] = row.cells;
        setText(name, `${task.id} ${task.type}` + (task.schedule ? `, by ${task.schedule}` : ""));
        state.className = "state-" + task.state;
        setText(state, stateName(task.state));
        setText(progress.firstChild, isWaiting ? span(remaining) : "–");
        progress.lastChild.value = isWaiting && whole > 0 ? Math.max(1 - remaining / whole, 0) : 1;
        setText(runs, number(task.runs));
        action.firstChild.hidden = !isWaiting && task.state !== "running";
    }
};

handleRowButtons(taskList.table, async (id) => {
    const {state} = await call("DELETE", "tasks/" + id);
    taskList.refresh();
    return state === "running" ? `Task ${id} is told to stop.` : `Task ${id} is cancelled.`;
});

byId("filter").addEventListener("change", () => {
    taskList.limit = taskList.pageSize;
    taskList.refresh();
});

byId("more").addEventListener("click", () => {
    taskList.limit = Math.min(taskList.limit + taskList.pageSize, taskList.most);
    taskList.refresh();
});

byId("cleanup").addEventListener("click", async () => {
    try {
        const {removed} = await call("POST", "tasks/cleanup");
        say(`${number(removed)} finished tasks are forgotten.`);
        taskList.refresh();
    } catch (problem) {
        say(problem.message);
    }
});

const scheduleList = {
    table: byId("schedules"),
    most: 100,

    async refresh() {
        const found = await callQuietly("schedules");
        if (!found)
            return;
        const {schedules} = found;
        const shown = schedules.slice(0, this.most);
        setText(this.table.caption, schedules.length === 0 ? "None" :
            `${number(shown.length)} of ${number(schedules.length)}`);
        showRows(this.table, shown, (schedule) => schedule.key, this.makeRow, this.updateRow);
    },

    makeRow({key}) {
        return element("tr", {}, element("th", {scope: "row", textContent: key}), cell(),
            cell({className: "minor"}), cell(), cell({className: "amount minor"}),
            cell({className: "minor"}),
            cell({}, element("button",
                {type: "button", textContent: "Remove", ariaLabel: "Remove schedule " + key})));
    },

    updateRow(row, schedule) {
        const last = schedule.history.at(-1);
        const texts = [
            schedule.cron ?? "every " + span(schedule.period), schedule.type,
            schedule.nextRun ? timeText(schedule.nextRun) : schedule.state, number(schedule.runs),
            last ? `${stateName(last.outcome)}, took ${span(last.duration)}` : ""
        ];
        texts.forEach((text, i) => setText(row.cells[i + 1], text));
    }
};

handleRowButtons(scheduleList.table, async (key) => {
    await call("DELETE", "schedules/" + encodeURIComponent(key));
    scheduleList.refresh();
    return `Schedule ${key} is removed.`;
});

setInterval(() => {
    if (!isLost && !document.hidden)
        scheduleList.refresh();
}, 1000);

showScheduleFields();
connect();
taskList.refresh();
scheduleList.refresh();
