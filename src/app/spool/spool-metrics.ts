/** Shows the spool as metrics. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { SpoolFigures } from '../../spool/spool.ts';

interface SpoolSource {
  figures(): SpoolFigures;
}

export function showSpool(register: Registry, spool: SpoolSource): void {
  const registers = [register];
  const gauge = (name: string, help: string, read: (figures: SpoolFigures) => number): void => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read(spool.figures()));
      },
    });
  };
  gauge('gatewright_spool_bytes', 'Bytes of the spool on disk', ({ bytes }) => bytes);
  gauge('gatewright_spool_bytes_max', 'Maximum size of the spool', ({ bytesMax }) => bytesMax);
  gauge(
    'gatewright_spool_records',
    'Records in the spool that are not delivered, without unread ones of dead processes',
    ({ records }) => records,
  );
  gauge(
    'gatewright_spool_oldest_seconds',
    'Age of the oldest record in the spool that is not delivered; 0 for none',
    ({ oldestMs }) => oldestMs / 1000,
  );
  gauge(
    'gatewright_spool_failing',
    '1 while the disk of the spool takes no records, else 0',
    (at) => Number(at.fault !== null),
  );
  new Counter({
    name: 'gatewright_spool_losses_total',
    help: 'Records dropped because the spool was full, refused by it, and files of it with damage',
    labelNames: ['reason'],
    registers,
    collect() {
      const { dropped, refused, damaged } = spool.figures();
      this.reset();
      this.inc({ reason: 'dropped' }, dropped);
      this.inc({ reason: 'refused' }, refused);
      this.inc({ reason: 'damaged' }, damaged);
    },
  });
}
