"use strict";
(() => {
  const KEEP = 3600, FAILURES = 100; // points of a chart, rows of failures
  const page = document.documentElement.dataset;
  const byId = id => document.getElementById(id);
  const charts = new Map(mlperf.charts.map(c => [c.id, c]));
  const say = text => { if (byId("connection").textContent !== text) byId("connection").textContent = text; };
  const lost = `No connection; trying again. If the ${page.what} has ended, its result is in ${page.folder}.`;

  const addRow = (body, texts, header) => {
    const row = body.insertRow();
    texts.forEach((text, i) => {
      const isHeader = header === "all" || header && i === 0;
      const cell = document.createElement(isHeader ? "th" : "td");
      if (isHeader) cell.scope = header === "all" ? "col" : "row";
      cell.textContent = text;
      row.append(cell);
    });
  };

  let drawing = false;
  const draw = () => {
    if (drawing) return; // a reconnect brings many points at once
    drawing = true;
    requestAnimationFrame(() => {
      drawing = false;
      for (const chart of charts.values()) chart.draw();
    });
  };

  const listen = {
    // tick is a second of the test.
    tick(data) {
      for (const [id, values] of Object.entries(data.values)) charts.get(id)?.append(data.at_s, values, KEEP);
      for (const failure of data.failures ?? []) addRow(byId("failures"), failure);
      while (byId("failures").rows.length > FAILURES) byId("failures").deleteRow(0);
      draw();
    },
    // now is the state of the test.
    now(data) {
      byId("now").replaceChildren();
      for (const row of data) addRow(byId("now"), row, true);
      for (const row of byId("now").rows) row.cells[1].classList.toggle("alarm", row.cells[1].textContent.startsWith("⚠ "));
    },
    // steps are all steps so far.
    steps(data) {
      const part = byId("steps");
      part.hidden = data.head.length === 0;
      part.querySelector("h3").textContent = data.title;
      part.querySelector("thead").replaceChildren();
      part.querySelector("tbody").replaceChildren();
      addRow(part.querySelector("thead"), data.head, "all");
      for (const row of data.rows) addRow(part.querySelector("tbody"), row);
    },
    end(data) {
      byId("verdict").textContent = data.verdict;
      byId("verdict").className = "verdict " + data.verdict;
      byId("headline").textContent = data.headline;
      byId("reasons").replaceChildren(...data.reasons.map(r => {
        const item = document.createElement("li"), code = document.createElement("b");
        code.textContent = r.code;
        item.append(code, ": " + r.text);
        return item;
      }));
      byId("stop")?.remove();
      say(`The ${page.what} has ended. ${page.next}`);
      source.close();
    },
    // other: the page has other charts, or another program runs at this address.
    other() { location.reload(); },
  };

  const source = new EventSource(`events?run=${encodeURIComponent(page.run)}&after=${page.after}`);
  for (const [name, act] of Object.entries(listen)) source.addEventListener(name, event => act(JSON.parse(event.data)));
  source.addEventListener("open", () => say(""));
  source.addEventListener("error", () => {
    say(source.readyState === EventSource.CLOSED ? "The program refused the connection. Load the page again later." : lost);
  });

  // The token is behind the # of the address, so that no log and no other server ever sees it.
  const token = new URLSearchParams(location.hash.slice(1)).get("token"), stop = byId("stop");
  if (stop && token) {
    let sure = false;
    stop.hidden = false;
    stop.addEventListener("click", async () => {
      if (!sure) {
        sure = true;
        stop.textContent = `Stop it: the ${page.what} ends without its result`;
        return;
      }
      const answer = await fetch("stop", {method: "POST", headers: {"X-Live-Token": token}}).catch(() => null);
      byId("stopped").textContent = answer?.ok ? `The ${page.what} is stopping.` : "The program did not accept the command.";
    });
  }
})();
