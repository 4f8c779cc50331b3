/** Steps the clock of a server forward or back. */
import type { Place } from '../scene/place.ts';
import type { FaultKind, FaultTarget } from './fault.ts';

/** Steps that a server is documented to stand (docs/guides/operations.md, When something is down). */
const stepsMs = [-300_000, -5_000, 5_000, 300_000];

interface SteppedPlace extends FaultTarget {
  readonly place: Place;
  readonly stepMs: number;
}

export const clockFaults: readonly FaultKind<SteppedPlace>[] = [
  {
    name: 'clock step',
    durationMs: [1_000, 6_000],
    permits: [],
    targetsOf: ({ gateways }) =>
      gateways.flatMap((place) =>
        stepsMs.map((stepMs) => ({
          name: `${place.name} by ${stepMs / 1_000} s`,
          claims: [`clock of ${place.name}`],
          place,
          stepMs,
        })),
      ),
    inject: async (_, { place, stepMs }) => {
      place.parts.shim.clockOffMs = stepMs;
      return async () => {
        place.parts.shim.clockOffMs = 0;
      };
    },
  },
];
