/** Describes the simulated deployment, and reduces it for a quick look. */

export interface Deployment {
  readonly gateways: number;
  readonly organisations: number;
  readonly keysOfOrganisation: number;
  readonly regions: number;
  readonly changesPerSecond: number;
  readonly seed: number;
}

const fullSize: Deployment = {
  gateways: 10_000,
  organisations: 10_000,
  keysOfOrganisation: 100,
  regions: 20,
  changesPerSecond: 1,
  seed: 28,
};

/** Gateways and organisations at a share of the full size; regions, keys of an organisation and changes stay. */
export function reduced(scale: number): Deployment {
  const share = (count: number): number => Math.max(1, Math.round(count * scale));
  const { gateways, organisations, regions } = fullSize;
  return {
    ...fullSize,
    gateways: Math.max(2 * regions, share(gateways)),
    organisations: share(organisations),
  };
}

/** Processes of the control plane in its one region. */
export const controlPlanes = 3;

/** Round trip in milliseconds from a region to the control plane: the nearest is beside it, the farthest on the other side of the world. */
export function roundTripMs(region: number, regions: number): number {
  const [nearMs, farMs] = [2, 280];
  return regions === 1 ? nearMs : nearMs + ((farMs - nearMs) * region) / (regions - 1);
}

/** Bytes in a millisecond of one gateway's connection: 100 Mbit/s. */
export const bytesPerMs = 12_500;
