/** Draws values over time, with a table of the same values for those who cannot see the drawing. */
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { At } from './text.tsx';

interface Series {
  readonly name: string;
  readonly values: readonly (number | null)[];
  /** Name of a custom property: `--accent`. */
  readonly colour: string;
}

interface PlotProps {
  readonly title: string;
  /** ISO 8601, ascending. */
  readonly times: readonly string[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
}

const height = 180;

export function Plot({ title, times, series, format }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const key = JSON.stringify([times, series]);
  useEffect(() => {
    const element = place.current!;
    const ink = resolveColour(element, '--quiet');
    const line = resolveColour(element, '--line');
    const axis = {
      stroke: ink,
      grid: { stroke: line, width: 1 },
      ticks: { stroke: line, width: 1 },
    };
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: false },
        cursor: { y: false },
        axes: [
          axis,
          { ...axis, size: 76, values: (_, ticks) => ticks.map((tick) => format(tick)) },
        ],
        scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
        series: [
          {},
          ...series.map(({ name, colour }) => ({
            label: name,
            stroke: resolveColour(element, colour),
            width: 2,
            points: { show: times.length < 2 },
          })),
        ],
      },
      [times.map((at) => Date.parse(at) / 1000), ...series.map(({ values }) => [...values])],
      element,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [key]);
  return (
    <figure class="plot">
      <figcaption>
        {title}
        {series.length > 1 &&
          series.map(({ name, colour }) => (
            <span key={name} class={`legend ${colour.slice(2)}`}>
              {name}
            </span>
          ))}
      </figcaption>
      <div ref={place} aria-hidden="true" />
      <details>
        <summary>Values of {title}</summary>
        <ValueTable title={title} times={times} series={series} format={format} />
      </details>
    </figure>
  );
}

/** Returns a colour of the style sheet as the canvas needs it: for the present scheme, dark or light. */
function resolveColour(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  const { color } = getComputedStyle(element);
  element.style.color = '';
  return color;
}

function ValueTable({ title, times, series, format }: PlotProps) {
  return (
    <table>
      <caption class="unseen">{title}</caption>
      <thead>
        <tr>
          <th scope="col">Time</th>
          {series.map(({ name }) => (
            <th key={name} scope="col" class="number">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {times.map((at, index) => (
          <tr key={at}>
            <th scope="row">
              <At at={at} />
            </th>
            {series.map(({ name, values }) => (
              <td key={name} class="number">
                {values[index] === null ? '–' : format(values[index]!)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
