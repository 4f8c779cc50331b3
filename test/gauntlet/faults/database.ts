/** Makes the database read-only or out of connections, and cuts, freezes or slows the links to it. */
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import type { TestDatabaseServer } from '../../support/database/database-server.ts';
import { administer } from '../../support/database/empty-database.ts';
import type { Place } from '../scene/place.ts';
import type { Scene } from '../scene/scene.ts';
import { until } from '../until.ts';
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

/** Time within which a server without a free connection lets its administrator in. */
const healMsMax = 60_000;

/** Runs statements on the server as its administrator, and others to heal. */
function serverFault(
  name: string,
  before: (server: TestDatabaseServer) => Promise<void>,
  after: string,
): FaultKind {
  return {
    name,
    durationMs: [500, 4_000],
    permits: databaseAway,
    targetsOf: () => [{ name: 'database', claims: ['database'] }],
    whyMissing: ({ database: { own } }) =>
      own === null ? 'the variables of this server are not ours to change' : null,
    inject: async ({ database: { server } }) => {
      await before(server);
      return async () => {
        // Connections that are being refused may take the place that is left for the administrator.
        const isHealed = await until(() => administer(server, after).then(() => true), healMsMax);
        if (!isHealed) throw new Error(`the database does not take: ${after}`);
      };
    },
  };
}

/** The fewest that a server accepts, and as many as it had. */
const [fewConnections, usualConnections] = [10, 500];

/** Lowers the limit of connections, and ends those of the product. */
async function exhaust({ host, port, user, password }: TestDatabaseServer): Promise<void> {
  const connection = await createConnection({ host, port, user, password });
  try {
    await connection.query(`SET GLOBAL max_connections = ${fewConnections}`);
    const [rows] = await connection.query<RowDataPacket[]>(
      'SELECT id FROM information_schema.processlist WHERE user <> ?',
      [user],
    );
    for (const { id, ID } of rows) {
      // One that has ended meanwhile is no fault.
      await connection.query('KILL ?', [id ?? ID]).catch(() => undefined);
    }
  } finally {
    await connection.end();
  }
}

export const databaseFaults: readonly (FaultKind<LinkTarget> | FaultKind)[] = [
  linkFault('database cut', eachLink, ({ parts }) => parts.link!.cut()),
  linkFault('database cut for all', allLinks, ({ parts }) => parts.link!.cut()),
  linkFault('database hung', eachLink, ({ parts }) => parts.link!.freeze()),
  linkFault('database slow', eachLink, ({ parts }) => parts.link!.slow(500)),
  linkFault('commit lost', eachLink, ({ parts }) => parts.link!.loseNextCommit(), [500, 2_000]),
  serverFault(
    'database read-only',
    (server) => administer(server, 'SET GLOBAL read_only = 1'),
    'SET GLOBAL read_only = 0',
  ),
  serverFault('connections exhausted', exhaust, `SET GLOBAL max_connections = ${usualConnections}`),
];
