/** Sums up what a simulation of slices has counted. */
import { type LinkFigures, noTraffic } from './counting-bank.ts';

export interface SliceFigures {
  /** Requests that were admitted, and refused although their limit is far. */
  admitted: number;
  refused: number;
  /** Between gateways and the bank that they use. */
  readonly ofGateways: LinkFigures;
  /** Between regions and home. */
  readonly ofRegions: LinkFigures;
  /** Limits of which more was used than they allow; must be 0. */
  exceeded: number;
}

export function noSlices(): SliceFigures {
  return {
    admitted: 0,
    refused: 0,
    exceeded: 0,
    ofGateways: { ...noTraffic },
    ofRegions: { ...noTraffic },
  };
}

export function sumSlices(one: SliceFigures, other: SliceFigures): SliceFigures {
  return {
    admitted: one.admitted + other.admitted,
    refused: one.refused + other.refused,
    exceeded: one.exceeded + other.exceeded,
    ofGateways: sumTraffic(one.ofGateways, other.ofGateways),
    ofRegions: sumTraffic(one.ofRegions, other.ofRegions),
  };
}

function sumTraffic(one: LinkFigures, other: LinkFigures): LinkFigures {
  const names = Object.keys(one) as (keyof LinkFigures)[];
  const sums = names.map((name) => [name, one[name] + other[name]] as const);
  return { ...one, ...Object.fromEntries(sums) };
}
