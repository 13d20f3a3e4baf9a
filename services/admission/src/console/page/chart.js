// Lines over time, as inline SVG.
import { html, memo, useEffect, useId, useRef, useState } from './dom.js';
import { axisDuration, axisTime, time } from './format.js';

const HEIGHT = 150;
const MARGIN = { top: 8, right: 8, bottom: 20, left: 44 };

/** The path of values at evenly spaced places; `x` and `y` map to pixels. Unknown values leave a gap. */
function line(values, x, y, isGap = () => false) {
  let path = '';
  let pen = 'M';
  values.forEach((value, at) => {
    if (value === undefined || value === null) {
      pen = 'M';
      return;
    }
    if (isGap(at)) pen = 'M';
    path += `${pen}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = 'L';
  });
  return path;
}

const SECOND = 1000;
const SPANS = [1, 2, 4, 10, 20, 30, 60, 120, 240, 600, 1200, 1800, 3600, 7200, 14_400].map((it) => it * SECOND);

/** A round number that is at least `value` and has a round half: the top of an axis. */
function roundUp(value, isDuration) {
  const span = isDuration && SPANS.find((top) => top >= value);
  if (span) return span;
  if (!(value > 0)) return 2;
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 6, 8, 10].map((step) => step * size).find((top) => top >= value);
}

/** A small line without axes: its card has the number. */
export const Sparkline = memo(({ values, label }) => {
  if (!values || values.length < 2) return html`<div class="sparkline"></div>`;
  const top = Math.max(...values, 1);
  const x = (at) => (at * 100) / (values.length - 1);
  const y = (value) => 30 - (28 * value) / top;
  const path = line(values, x, y);
  return html`<svg class="sparkline" viewBox="0 0 100 32" preserveAspectRatio="none" role="img" aria-label=${label}>
    <path class="area" d="${path}L100 32L0 32Z" /><path class="line" d=${path} />
  </svg>`;
});

/** The width of an element in pixels. */
function useWidth(element) {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.round(entry.contentRect.width)));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

/**
 * A chart with a time cursor, for the pointer and for arrow keys. `points` have `at` and the fields
 * that `series` names: `[{ field, label, tone }]`; `format` shows a value. With `least` the axis has at
 * least that value, so that small counts have whole numbers.
 */
export const Chart = memo(({ title, points, series, format, isDuration, least = 0, stepMs }) => {
  const frame = useRef(null);
  const width = useWidth(frame);
  const [cursor, setCursor] = useState(null);
  const id = useId();
  const count = points.length;
  const times = points.map((point) => Date.parse(point.at));
  const [start, end] = count > 1 ? [times[0], times[count - 1]] : [0, 1];
  const values = series.map(({ field }) => points.map((point) => point[field]));
  const top = roundUp(Math.max(least, ...values.flat().filter((value) => typeof value === 'number')), isDuration);
  const plot = width - MARGIN.left - MARGIN.right;
  const place = (ms) => MARGIN.left + ((ms - start) / (end - start || 1)) * plot;
  const x = (at) => place(times[at]);
  const y = (value) => HEIGHT - MARGIN.bottom - (value / top) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const isGap = (at) => at > 0 && times[at] - times[at - 1] > 2.5 * stepMs;
  const shown = cursor === null ? count - 1 : Math.min(cursor, count - 1);
  const isPointed = cursor !== null && count > 0;
  const texts = series.map(({ label }, at) => `${label} ${format(values[at][shown])}`);
  const text = `${count ? `${time(points[shown].at)}: ` : ''}${texts.join(', ')}`;

  const point = (event) => {
    const box = frame.current.getBoundingClientRect();
    const wanted = start + ((event.clientX - box.left - MARGIN.left) / plot) * (end - start);
    const after = times.findIndex((at) => at >= wanted);
    const at = after < 0 ? count - 1 : after > 0 && wanted - times[after - 1] < times[after] - wanted ? after - 1 : after;
    setCursor(count ? at : null);
  };
  const move = (event) => {
    const to = { ArrowLeft: shown - 1, ArrowRight: shown + 1, Home: 0, End: count - 1, PageUp: shown + 12, PageDown: shown - 12 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    setCursor(Math.max(0, Math.min(count - 1, to)));
  };
  const step = end - start <= 360_000 ? 60_000 : 300_000;
  const ticks = [];
  for (let at = Math.ceil(start / step) * step; at <= end; at += step) ticks.push(at);

  return html`<figure class="chart">
    <figcaption><span id=${id}>${title}</span>
      <span class="readout">${series.map(({ label, tone }, at) => html`<span class=${tone}>
        ${series.length > 1 && html`<i aria-hidden="true"></i>${label} `}<b>${format(values[at][shown])}</b></span>`)}
        ${isPointed && html`<span>${time(points[shown].at)}</span>`}</span>
    </figcaption>
    <div ref=${frame} class="frame" role="slider" tabindex="0" aria-labelledby=${id} aria-valuemin="0" aria-valuemax=${Math.max(0, count - 1)}
        aria-valuenow=${Math.max(0, shown)} aria-valuetext=${text} onKeyDown=${move} onBlur=${() => setCursor(null)}
        onPointerMove=${point} onPointerLeave=${() => setCursor(null)}>
      ${width > 0 && count > 1 && html`<svg width=${width} height=${HEIGHT} aria-hidden="true">
        ${[0, top / 2, top].map((value) => html`<g class="grid">
          <line x1=${MARGIN.left} x2=${width - MARGIN.right} y1=${y(value)} y2=${y(value)} />
          <text x=${MARGIN.left - 6} y=${y(value) + 3.5} text-anchor="end">${isDuration ? axisDuration(value) : format(value)}</text></g>`)}
        ${ticks.filter((at) => place(at) > MARGIN.left + 14 && place(at) < width - 18)
          .map((at) => html`<text x=${place(at)} y=${HEIGHT - 4} text-anchor="middle">${axisTime(at)}</text>`)}
        ${series.map(({ tone }, at) => html`<path class="line ${tone}" d=${line(values[at], x, y, isGap)} />`)}
        ${isPointed && html`<line class="cursor" x1=${x(shown)} x2=${x(shown)} y1=${MARGIN.top} y2=${HEIGHT - MARGIN.bottom} />
          ${series.map(({ tone }, at) => typeof values[at][shown] === 'number'
            && html`<circle class=${tone} cx=${x(shown)} cy=${y(values[at][shown])} r="3.5" />`)}`}
      </svg>`}
      ${count < 2 && html`<p class="empty">Collecting: the first points appear within 10 seconds.</p>`}
    </div>
  </figure>`;
});
