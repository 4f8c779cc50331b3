/** Shows the state of the sealed snapshot of this process as metrics. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { RunningSnapshot, SnapshotFault } from '../../snapshot/open-snapshot.ts';

export function showSnapshot(register: Registry, snapshot: Pick<RunningSnapshot, 'figures'>): void {
  const gauge = (name: string, help: string, read: () => number | null): void => {
    new Gauge({
      name: `gatewright_snapshot_${name}`,
      help,
      registers: [register],
      collect() {
        this.remove();
        const value = read();
        if (value !== null) this.set(value);
      },
    });
  };
  gauge('organisations', 'Organisations in the snapshot of this process', () => {
    return snapshot.figures().organisations;
  });
  gauge('keys', 'Values of API keys in the snapshot of this process', () => {
    return snapshot.figures().keys;
  });
  gauge('age_seconds', 'Time since the snapshot of this process was known to be the newest', () => {
    return snapshot.figures().ageSeconds;
  });
  gauge('builder', '1 in the process that builds the snapshot, 0 in others', () => {
    return snapshot.figures().isBuilder ? 1 : 0;
  });
  new Counter({
    name: 'gatewright_snapshot_faults_total',
    help: 'Snapshots that were refused, not saved, not pulled, not built or not kept in the bucket, by fault',
    labelNames: ['fault'],
    registers: [register],
    collect() {
      this.reset();
      const { faults } = snapshot.figures();
      for (const fault of Object.keys(faults) as SnapshotFault[]) {
        this.inc({ fault }, faults[fault]);
      }
    },
  });
}
