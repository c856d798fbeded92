// Looks at a page as a reader would. layout, contrast and charts return a list of faults.
const checks = (() => {
  const TEXTS = "h1, h2, h3, p, li, th, td, summary, button, figcaption, .verdict";
  const name = e => e.tagName.toLowerCase() + ' "' + e.textContent.trim().slice(0, 40) + '"';
  const seen = selector => [...document.querySelectorAll(selector)].filter(e => e.checkVisibility());

  // luminance and ratio are those of WCAG 2.1.
  const channels = colour => colour.match(/[\d.]+/g).map(Number);
  const luminance = colour => {
    const [r, g, b] = channels(colour).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const backgroundOf = e => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (channels(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };

  // textsOfChart returns faults of the texts of a chart: they stay inside, and those of one axis do not touch.
  const textsOfChart = svg => {
    const faults = [], frame = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll("text")].map(text => ({text, box: text.getBoundingClientRect()}));
    for (const {text, box} of boxes) {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) {
        faults.push("outside its chart: " + name(text));
      }
    }
    boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => {
      const apart = a.box.right <= b.box.left || b.box.right <= a.box.left || a.box.bottom <= b.box.top || b.box.bottom <= a.box.top;
      if (!apart) faults.push("over each other: " + name(a.text) + " and " + name(b.text));
    }));
    return faults;
  };

  return {
    layout() {
      const faults = [], width = document.documentElement.clientWidth;
      if (document.documentElement.scrollWidth > width) {
        faults.push(`the page is ${document.documentElement.scrollWidth} px wide, the window ${width}`);
      }
      for (const e of seen(TEXTS)) {
        const box = e.getBoundingClientRect();
        if (!e.closest(".scroll, pre") && (box.left < 0 || box.right > width + 1)) faults.push("cut by the window: " + name(e));
        if (getComputedStyle(e).overflowX !== "visible" && e.scrollWidth > e.clientWidth) faults.push("cut: " + name(e));
      }
      for (const svg of seen("svg")) faults.push(...textsOfChart(svg));
      return faults;
    },

    contrast() {
      const faults = [];
      for (const e of seen("body *")) {
        if (![...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim())) continue;
        const style = getComputedStyle(e), colour = e.closest("svg") ? style.fill : style.color;
        const value = ratio(colour, backgroundOf(e));
        if (value < 4.5) faults.push(`contrast of ${value.toFixed(2)}: ${name(e)}`);
      }
      for (const e of seen("path.curve, path.limit")) {
        const value = ratio(getComputedStyle(e).stroke, backgroundOf(e));
        if (value < 3) faults.push(`contrast of ${value.toFixed(2)}: ${e.getAttribute("class")}`);
      }
      return faults;
    },

    charts() {
      const faults = [];
      for (const figure of seen("figure")) {
        const curves = [...figure.querySelectorAll("svg path.curve")];
        if (!curves.some(c => /[ML]/.test(c.getAttribute("d")))) faults.push("no curve: " + name(figure.querySelector("h3")));
        if (curves.length !== figure.querySelectorAll(".legend li:not(.limit)").length) {
          faults.push("curves and legend differ: " + name(figure.querySelector("h3")));
        }
      }
      return faults;
    },

    // outline is what a page consists of, in its order.
    outline() {
      return seen("h1, h2, h3, .verdict, table, figure, svg, summary, button, pre").map(e => e.tagName.toLowerCase() +
        (/^(h\d|summary|button|span)$/i.test(e.tagName) ? ": " + e.textContent.trim() : ""));
    },

    // controls are the elements that the keyboard must reach, in the order of the page.
    controls() { return seen("button, summary, [tabindex='0'], a[href], input, select"); },

    // focused is the number of the control that has the focus, and whether it shows; -1: none has it.
    focused() {
      const e = document.activeElement, style = getComputedStyle(e);
      return {at: this.controls().indexOf(e), shown: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0};
    },
  };
})();
