/** Shows as metrics whether the database of this process answers, and whether its control plane does. */
import { Gauge, type Registry } from 'prom-client';
import { waitAtMost } from '../../clock.ts';
import type { Database } from '../../store/connection/db.ts';
import type { LinkState } from './link-state.ts';

export type DatabaseFigures = Pick<Database, 'pool' | 'tls' | 'isReaderInUse' | 'ping'>;

/** A scrape ends before the usual timeout of Prometheus, 10 s. */
const pingMsMax = 5_000;

/** Read on each scrape, so that no state has to be updated. */
export function showDatabase(register: Registry, database: DatabaseFigures): void {
  new Gauge({
    name: 'gatewright_database_connections',
    help: 'Connections of the pool: open, used by a request, and requests waiting for one',
    labelNames: ['state'],
    registers: [register],
    collect() {
      const { size, used, pending } = database.pool();
      this.set({ state: 'open' }, size);
      this.set({ state: 'used' }, used);
      this.set({ state: 'waiting' }, pending);
    },
  });
  new Gauge({
    name: 'gatewright_database_tls_info',
    help: 'Always 1; the labels show the encryption of the latest connection',
    labelNames: ['mode', 'version', 'cipher'],
    registers: [register],
    collect() {
      const tls = database.tls();
      this.reset();
      if (tls === null) return;
      const { mode, version, cipher } = tls;
      this.set({ mode, version: version ?? 'none', cipher: cipher ?? 'none' }, 1);
    },
  });
  new Gauge({
    name: 'gatewright_database_reachable',
    help: '1 when the writer of the database responds, else 0',
    registers: [register],
    async collect() {
      let isReachable = false;
      const ping = database.ping().then(
        () => {
          isReachable = true;
        },
        () => {},
      );
      await waitAtMost(pingMsMax, ping);
      this.set(Number(isReachable));
    },
  });
  new Gauge({
    name: 'gatewright_database_degraded',
    help: '1 while the writer is down and its reader serves the reads, else 0',
    registers: [register],
    async collect() {
      this.set(Number(await database.isReaderInUse()));
    },
  });
}

export function showControlPlane(register: Registry, { isAway }: Pick<LinkState, 'isAway'>): void {
  new Gauge({
    name: 'gatewright_control_plane_reachable',
    help: '1 while the control plane, or the home of a region, has confirmed the configuration within 15 s, else 0',
    registers: [register],
    collect() {
      this.set(Number(!isAway()));
    },
  });
}
