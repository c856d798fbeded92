"use strict";
(() => {
  const NS = "http://www.w3.org/2000/svg";
  const HEIGHT = 260, LEFT = 76, RIGHT = 26, TOP = 12, BOTTOM = 44;
  const FAR_ABOVE = 4; // a limit so many times above every value is not drawn
  const charts = [];

  const make = (name, attributes, text) => {
    const e = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const show = v => v === null ? "-" : String(Number(v.toPrecision(5)));

  // tick is show in at most six characters for a round value, so that an axis's values stay clear of its name.
  const tick = v => {
    const size = Math.abs(v);
    return size > 0 && (size < 1e-3 || size >= 1e6) ? Number(v.toPrecision(5)).toExponential().replace("+", "") : show(v);
  };

  // marks returns round values that divide a range into about n parts.
  const marks = (low, high, n) => {
    let step = 10 ** Math.floor(Math.log10((high - low) / n));
    step *= [1, 2, 5, 10].find(f => step * f * n >= high - low);
    const list = [];
    const first = Math.ceil(low / step - 1e-9);
    for (let i = 0; i < 40 && (first + i) * step <= high + step * 1e-9; i++) list.push((first + i) * step);
    return list;
  };

  // raised returns a mark that is not below the values of an axis.
  const raised = (low, high) => {
    const list = marks(low, high, 5), step = list[1] - list[0];
    return step > 0 ? Math.ceil(high / step - 1e-9) * step : high;
  };

  class Chart {
    constructor(figure) {
      this.data = JSON.parse(figure.querySelector("script").textContent);
      this.id = figure.id;
      this.rows = figure.querySelector("tbody");
      this.host = figure.querySelector(".chart");
      this.values = document.createElement("span");
      this.cursor = null; // index into the X of the first curve
      this.full = this.range = this.xRange();
      this.controls(figure.querySelector(".tools"), figure.querySelector("h3").textContent);
      this.listen();
      this.draw();
    }

    xRange() {
      if (this.data.range) return this.data.range;
      let low = this.data.time ? Infinity : 0, high = -Infinity;
      for (const c of this.data.curves) for (const x of c.x) { low = Math.min(low, x); high = Math.max(high, x); }
      for (const l of this.data.limits) if (l.on_x) high = Math.max(high, l.value * 1.05);
      if (high < low) return [0, 1]; // no value yet
      return high > low ? [low, high] : [low, low + 1];
    }

    yRange() {
      let low = 0, high = 0;
      const [from, to] = this.range;
      for (const c of this.data.curves) c.y.forEach((y, i) => {
        if (y !== null && c.x[i] >= from && c.x[i] <= to) { low = Math.min(low, y); high = Math.max(high, y); }
      });
      for (const l of this.near()) if (!l.on_x) high = Math.max(high, l.value * 1.05);
      if (high <= low) high = low + 1;
      return [low, raised(low, high)];
    }

    // near returns the limits that are drawn.
    near() {
      let high = 0;
      for (const c of this.data.curves) for (const y of c.y) if (y !== null) high = Math.max(high, y);
      return this.data.limits.filter(l => l.on_x || l.value <= FAR_ABOVE * high);
    }

    // append adds a value to each curve, and to the table, which shows the last minute. It keeps a number of values.
    append(x, values, keep) {
      this.data.curves.forEach((c, i) => {
        c.x.push(x);
        c.y.push(values[i]);
        if (c.x.length > keep) { c.x.shift(); c.y.shift(); }
      });
      const row = this.rows.insertRow();
      for (const v of [x, ...values]) {
        const cell = row.insertCell();
        cell.className = "number";
        cell.textContent = show(v);
      }
      if (this.rows.rows.length > 60) this.rows.deleteRow(0);
      const all = this.range === this.full;
      this.full = this.xRange();
      if (all) this.range = this.full;
    }

    controls(tools, title) {
      for (const [label, name, act] of [["+", "Zoom in", () => this.zoom(.5)], ["−", "Zoom out", () => this.zoom(2)],
        ["all", "Show all", () => this.setRange(this.full)]]) {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = label;
        button.setAttribute("aria-label", name + ": " + title);
        button.addEventListener("click", act);
        tools.append(button);
      }
      this.values.className = "values";
      this.values.setAttribute("aria-live", "polite");
      tools.append(this.values);
      this.host.tabIndex = 0;
      this.host.setAttribute("role", "group");
      this.host.setAttribute("aria-label", title + ". Arrow keys show values.");
    }

    listen() {
      const at = event => {
        const box = this.host.getBoundingClientRect();
        const share = (event.clientX - box.left - LEFT) / (this.width - LEFT - RIGHT);
        return this.range[0] + Math.min(Math.max(share, 0), 1) * (this.range[1] - this.range[0]);
      };
      let from = null;
      this.host.addEventListener("pointermove", event => {
        this.point(this.nearest(at(event)));
        if (from !== null) this.mark(from, at(event));
      });
      this.host.addEventListener("pointerleave", () => { from = null; this.point(null); });
      this.host.addEventListener("pointerdown", event => {
        if (event.button !== 0) return;
        from = at(event);
        this.host.setPointerCapture(event.pointerId); // the mouse may leave the chart and be released there
      });
      this.host.addEventListener("pointerup", event => {
        const to = at(event), start = from;
        from = null;
        if (start !== null && Math.abs(to - start) > (this.range[1] - this.range[0]) / 50) {
          this.setRange([Math.min(start, to), Math.max(start, to)]);
        }
      });
      this.host.addEventListener("dblclick", () => this.setRange(this.full));
      this.host.addEventListener("keydown", event => {
        const act = {
          ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1), "+": () => this.zoom(.5), "-": () => this.zoom(2),
          "0": () => this.setRange(this.full), Escape: () => this.point(null),
        }[event.key];
        if (act) { event.preventDefault(); act(); }
      });
    }

    nearest(x) {
      const xs = this.data.curves[0].x;
      let best = null;
      xs.forEach((v, i) => { if (best === null || Math.abs(v - x) < Math.abs(xs[best] - x)) best = i; });
      return best;
    }

    step(by) {
      const n = this.data.curves[0].x.length;
      if (n === 0) return;
      const start = this.cursor === null ? this.nearest(by > 0 ? this.range[0] : this.range[1]) - by : this.cursor;
      this.point(Math.min(Math.max(start + by, 0), n - 1));
    }

    // point shows the values at one place, of the curves that have a value there.
    point(index) {
      this.cursor = index;
      this.line.replaceChildren();
      this.values.textContent = "";
      if (index === null) return;
      const x = this.data.curves[0].x[index];
      const parts = this.data.curves.map(c => {
        const i = c.x[index] === x ? index : c.x.findIndex(v => v >= x);
        return i < 0 ? "" : (c.name + " " + show(c.y[i]));
      });
      this.values.textContent = show(x) + ": " + parts.filter(Boolean).join(", ");
      if (x >= this.range[0] && x <= this.range[1]) {
        this.line.append(make("path", {class: "cursor", d: `M${this.toX(x)} ${TOP}V${HEIGHT - BOTTOM}`}));
      }
    }

    mark(from, to) {
      const x = Math.min(this.toX(from), this.toX(to));
      this.line.append(make("rect", {class: "range", x, y: TOP, width: Math.abs(this.toX(to) - this.toX(from)),
        height: HEIGHT - TOP - BOTTOM}));
    }

    zoom(by) {
      const x = this.cursor === null ? null : this.data.curves[0].x[this.cursor];
      const middle = x === null ? (this.range[0] + this.range[1]) / 2 : x;
      const half = (this.range[1] - this.range[0]) * by / 2;
      const low = Math.max(middle - half, this.full[0]), high = Math.min(middle + half, this.full[1]);
      if (high - low > (this.full[1] - this.full[0]) / 1e4) this.setRange([low, high]);
    }

    setRange(range) {
      const group = this.data.time ? charts.filter(c => c.data.time && c.data.group === this.data.group) : [this];
      for (const c of group) { c.range = range === this.full ? c.full : range; c.draw(); }
    }

    draw() {
      this.width = Math.max(this.host.clientWidth, 240);
      const [x0, x1] = this.range, [y0, y1] = this.yRange(), floor = HEIGHT - BOTTOM, right = this.width - RIGHT;
      this.toX = x => LEFT + (right - LEFT) * (x - x0) / (x1 - x0);
      this.toY = y => TOP + (floor - TOP) * (1 - (y - y0) / (y1 - y0));
      const svg = make("svg", {viewBox: `0 0 ${this.width} ${HEIGHT}`, width: this.width, height: HEIGHT, "aria-hidden": true});
      for (const y of marks(y0, y1, 5)) {
        svg.append(make("path", {class: "grid", d: `M${LEFT} ${this.toY(y)}H${right}`}),
          make("text", {class: "end", x: LEFT - 6, y: this.toY(y) + 4}, tick(y)));
      }
      const n = Math.max(2, Math.floor(this.width / 90));
      const alone = marks(x0, x1, n).length < 2; // one mark shows no scale
      for (const x of marks(x0, x1, alone ? n + 1 : n)) {
        svg.append(make("path", {class: "tick", d: `M${this.toX(x)} ${floor}v4`}),
          make("text", {class: "middle", x: this.toX(x), y: floor + 20}, tick(x)));
      }
      svg.append(make("path", {class: "axis", d: `M${LEFT} ${floor}H${right}`}),
        make("text", {class: "middle", x: this.width / 2, y: HEIGHT - 6}, this.data.x),
        make("text", {class: "middle", transform: `translate(14 ${(TOP + floor) / 2}) rotate(-90)`}, this.data.y));
      for (const l of this.near()) {
        if (l.on_x && (l.value < x0 || l.value > x1)) continue;
        svg.append(make("path", {class: "limit",
          d: l.on_x ? `M${this.toX(l.value)} ${TOP}V${floor}` : `M${LEFT} ${this.toY(l.value)}H${right}`}));
      }
      for (const c of this.data.curves) {
        svg.append(make("path", {class: "curve " + c.class, d: this.path(c)}));
      }
      this.line = make("g", {});
      svg.append(this.line);
      this.host.replaceChildren(svg);
    }

    path(curve) {
      const [from, to] = this.range;
      let d = "", pen = "M";
      curve.y.forEach((y, i) => {
        if (y === null || curve.x[i] < from || curve.x[i] > to) { pen = "M"; return; }
        d += pen + this.toX(curve.x[i]).toFixed(1) + " " + this.toY(y).toFixed(1) + (pen === "M" ? "h.01" : "");
        pen = "L";
      });
      return d;
    }
  }

  for (const figure of document.querySelectorAll("figure")) charts.push(new Chart(figure));
  globalThis.mlperf = {charts};
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => charts.forEach(c => c.draw()), 100);
  });
})();
