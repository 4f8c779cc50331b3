/** Makes the database read-only or out of connections, and cuts, freezes or slows the links to it. */
import { administer } from '../../support/database/empty-database.ts';
import type { Place } from '../scene/place.ts';
import type { Scene } from '../scene/scene.ts';
import type { FaultKind, FaultTarget } from './fault.ts';
import { databaseAway } from './permits.ts';

interface LinkTarget extends FaultTarget {
  readonly places: readonly Place[];
}

const linkOf = (place: Place): string => `link of ${place.name}`;
const serversOf = ({ gateways, controls }: Scene): Place[] => [...gateways, ...controls];

const eachLink = (scene: Scene): LinkTarget[] =>
  serversOf(scene).map((place) => ({
    name: linkOf(place),
    claims: [linkOf(place)],
    places: [place],
  }));

const allLinks = (scene: Scene): LinkTarget[] => {
  const places = serversOf(scene);
  return [{ name: 'all links', claims: places.map(linkOf), places }];
};

function linkFault(
  name: string,
  targetsOf: (scene: Scene) => readonly LinkTarget[],
  act: (place: Place) => void,
  durationMs: FaultKind['durationMs'] = [500, 6_000],
): FaultKind<LinkTarget> {
  return {
    name,
    durationMs,
    permits: databaseAway,
    targetsOf,
    inject: async (_, { places }) => {
      for (const place of places) act(place);
      return async () => {
        for (const { parts } of places) parts.link!.mend();
      };
    },
  };
}

/** Runs statements on the server as its administrator, and others to heal. */
function serverFault(name: string, before: string, after: string): FaultKind {
  return {
    name,
    durationMs: [500, 4_000],
    permits: databaseAway,
    targetsOf: () => [{ name: 'database', claims: ['database'] }],
    whyMissing: ({ database: { own } }) =>
      own === null ? 'the variables of the server of --database are not ours to change' : null,
    inject: async ({ database: { server } }) => {
      await administer(server, before);
      return () => administer(server, after);
    },
  };
}

/** The fewest that a server accepts, and as many as it had. */
const [fewConnections, usualConnections] = [10, 500];

export const databaseFaults: readonly (FaultKind<LinkTarget> | FaultKind)[] = [
  linkFault('database cut', eachLink, ({ parts }) => parts.link!.cut()),
  linkFault('database cut for all', allLinks, ({ parts }) => parts.link!.cut()),
  linkFault('database hung', eachLink, ({ parts }) => parts.link!.freeze()),
  linkFault('database slow', eachLink, ({ parts }) => parts.link!.slow(500)),
  linkFault('commit lost', eachLink, ({ parts }) => parts.link!.loseNextCommit(), [500, 2_000]),
  serverFault('database read-only', 'SET GLOBAL read_only = 1', 'SET GLOBAL read_only = 0'),
  serverFault(
    'connections exhausted',
    `SET GLOBAL max_connections = ${fewConnections}; KILL CONNECTION USER gauntlet`,
    `SET GLOBAL max_connections = ${usualConnections}`,
  ),
];
