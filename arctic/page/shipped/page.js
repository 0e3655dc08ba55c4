"use strict";

// What a table of many rows can do more than scroll: sort, search, page. Without this script it is
// still whole, in the order in which the page was made.

const PAGE_ROWS = 50;

function valueOf(row, column) {
  const cell = row.cells[column];
  const number = Number(cell.dataset.value);
  return cell.dataset.value === undefined ? cell.textContent.trim().toLowerCase() : number;
}

function compared(left, right) {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

class SortedTable {
  constructor(table) {
    this.body = table.tBodies[0];
    this.rows = Array.from(this.body.rows);
    this.found = this.rows;
    this.first = 0;
    this.tools = document.querySelector(`[data-for="${table.id}"]`);
    this.heads = Array.from(table.tHead.rows[0].cells);
    this.heads.forEach((head, column) => this.makeButton(head, column));
    this.search = this.tools.querySelector("input");
    this.search.addEventListener("input", () => this.narrow());
    this.steps = Array.from(this.tools.querySelectorAll("[data-step]"));
    for (const button of this.steps) {
      button.addEventListener("click", () => this.turn(Number(button.dataset.step)));
    }
    this.tools.hidden = false;
    this.narrow();
  }

  makeButton(head, column) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => this.sort(head, column));
    head.replaceChildren(button);
  }

  sort(head, column) {
    const falls = head.getAttribute("aria-sort") === "ascending";
    this.heads.forEach((each) => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", falls ? "descending" : "ascending");
    const sign = falls ? -1 : 1;
    this.rows.sort((a, b) => sign * compared(valueOf(a, column), valueOf(b, column)));
    this.body.append(...this.rows);
    this.narrow();
  }

  narrow() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.found = this.rows.filter((row) => {
      const text = row.textContent.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    this.first = 0;
    this.show();
  }

  turn(step) {
    this.first += step * PAGE_ROWS;
    this.show();
  }

  show() {
    const last = Math.min(this.first + PAGE_ROWS, this.found.length);
    const shown = new Set(this.found.slice(this.first, last));
    for (const row of this.rows) row.hidden = !shown.has(row);
    const from = this.found.length ? this.first + 1 : 0;
    this.tools.querySelector("[role=status]").textContent =
      `${from} to ${last} of ${this.found.length}`;
    this.steps[0].disabled = this.first === 0;
    this.steps[1].disabled = last === this.found.length;
  }
}

for (const table of document.querySelectorAll("table[data-sorted]")) new SortedTable(table);

// The form that asks the service for a run, or what one would do. What it answers is shown as text.

const LOOK_AGAIN_MS = 2000;

class RunForm {
  constructor(form) {
    this.calls = form.dataset.calls;
    this.processes = form.dataset.processes;
    this.type = form.querySelector("select");
    this.status = form.querySelector("[role=status]");
    for (const button of form.querySelectorAll("[data-call]")) {
      button.addEventListener("click", () => this.ask(button.dataset.call));
    }
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
  }

  async ask(call) {
    this.status.textContent = "asking";
    const body = JSON.stringify(this.type.value ? { type: this.type.value } : {});
    const said = await this.answer(`${this.calls}/${call}`, { method: "POST", body });
    if (said === null) return;
    if (call === "preview") this.tell(said);
    else this.follow(said.id);
  }

  async answer(address, request) {
    try {
      const headers = { "content-type": "application/json" };
      const answer = await fetch(address, { ...request, headers });
      const said = await answer.json();
      if (answer.ok) return said;
      this.status.textContent = said.error.message;
    } catch (error) {
      this.status.textContent = `the service does not answer: ${error.message}`;
    }
    return null;
  }

  tell(plan) {
    const files = plan.partitions.reduce((sum, each) => sum + each.replaced_files, 0);
    this.status.textContent = plan.partitions.length
      ? `would replace ${files} files of base in ${plan.partitions.length} partitions, in ` +
        `${plan.tasks} tasks over ${plan.rows} rows; nothing was changed`
      : "would change nothing";
  }

  async follow(id) {
    for (;;) {
      const said = await this.answer(`${this.processes}/${id}`, {});
      if (said === null) return;
      const { status, failure } = said.process;
      this.status.textContent = `run ${id}: ${status}${failure ? `, ${failure}` : ""}`;
      if (status !== "waiting" && status !== "running") return;
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
    }
  }
}

for (const form of document.querySelectorAll("form[data-calls]")) new RunForm(form);
