/** Keeps log rows on disk until they are in the database: converts them to records of the spool and back. */
import { startOfTotalsStep } from '../../model/logs/request-log.ts';
import { newIdBytes } from '../../model/wire/ids.ts';
import type { SegmentPlace, SpoolStream } from '../../spool/spool-stream.ts';
import type { OpenChargeKey } from '../../store/logs/open-charges.ts';
import {
  emptyRow,
  type RequestLogRow,
  type WrittenRow,
  writeRow,
} from '../../store/logs/request-logs.ts';
import type { LostRequests } from './lost-requests.ts';

/** Rows and counts of one segment. */
interface LoadedRows {
  readonly place: SegmentPlace;
  readonly rows: readonly WrittenRow[];
  /** One list for each record. */
  readonly losses: readonly (readonly LostRequests[])[];
  /** Records that this build cannot read. */
  readonly unreadable: number;
}

/** JSON of a record; ids are hexadecimal. Members that are null may be missing. */
interface RecordJson {
  readonly row?: Readonly<Record<string, unknown>> & { readonly id: string };
  readonly openCharge?: Omit<OpenChargeKey, 'id'> & { readonly id: string };
  readonly losses?: readonly (Omit<LostRequests, 'id'> & { readonly id: string })[];
}

/** Null when the spool does not take the row. */
export function spoolRow(
  stream: SpoolStream,
  row: WrittenRow,
  isHeld: boolean,
): SegmentPlace | null {
  return push(stream, encodeRow(row), isHeld);
}

/** Leaves counts to the next process; false when the spool does not take them. */
export function spoolLosses(stream: SpoolStream, losses: readonly LostRequests[]): boolean {
  return push(stream, encodeLosses(losses), true) !== null;
}

function push(stream: SpoolStream, record: Buffer, isHeld: boolean): SegmentPlace | null {
  try {
    return stream.push(record, { isHeld });
  } catch {
    return null;
  }
}

/** Loads rows that are only on disk; null when there are none. */
export async function loadRows(stream: SpoolStream): Promise<LoadedRows | null> {
  const loaded = await stream.load();
  if (loaded === null) return null;
  const decoded = loaded.records.map(decodeRecord);
  return {
    place: loaded.place,
    rows: decoded.flatMap((one) => one?.row ?? []),
    losses: decoded.flatMap((one) => (one?.losses === undefined ? [] : [one.losses])),
    unreadable: decoded.filter((one) => one === null).length,
  };
}

/** The record of a row, JSON. It includes null members, because leaving them out takes twice the time. */
export function encodeRow({ row, openCharge }: WrittenRow): Buffer {
  const json = { ...row, id: row.id.toString('hex') };
  if (openCharge === null) return Buffer.from(JSON.stringify({ row: json }));
  const charge = { ...openCharge, id: openCharge.id.toString('hex') };
  return Buffer.from(JSON.stringify({ row: json, openCharge: charge }));
}

/** The record of counts, JSON. */
export function encodeLosses(losses: readonly LostRequests[]): Buffer {
  const hexadecimal = losses.map((loss) => ({ ...loss, id: loss.id.toString('hex') }));
  return Buffer.from(JSON.stringify({ losses: hexadecimal } satisfies RecordJson));
}

/** Rows among records. */
export function rowsIn(records: readonly Buffer[]): WrittenRow[] {
  return records.flatMap((record) => decodeRecord(record)?.row ?? []);
}

interface DecodedRecord {
  readonly row?: WrittenRow;
  readonly losses?: readonly LostRequests[];
}

/** Null for a record of another build that has neither. @throws SyntaxError for what is no JSON */
export function decodeRecord(record: Buffer | string): DecodedRecord | null {
  const { row, openCharge, losses } = JSON.parse(record.toString()) as RecordJson;
  if (losses !== undefined) {
    return { losses: losses.map((loss) => ({ ...loss, id: Buffer.from(loss.id, 'hex') })) };
  }
  if (row === undefined) return null;
  const whole = emptyRow({ ...row, id: Buffer.from(row.id, 'hex') } as Partial<RequestLogRow>);
  const charge =
    openCharge === undefined ? null : { ...openCharge, id: Buffer.from(openCharge.id, 'hex') };
  return { row: writeRow(whole, charge) };
}

/** Counts by organisation and hour that replace dropped rows. */
export class LossTally {
  readonly #byOrganisation = new Map<string, Map<number, LostRequests>>();
  /** Rows that were counted, without those of earlier counts. */
  rows = 0;

  /** Adds the rows and counts of dropped records. */
  addRecords(records: readonly Buffer[]): void {
    for (const record of records) {
      const { row, losses } = decodeRecord(record) ?? {};
      if (row !== undefined) this.addRow(row);
      for (const loss of losses ?? []) this.#add(loss);
    }
  }

  addRow({ row }: Pick<WrittenRow, 'row'>): void {
    this.rows += 1;
    const hour = startOfTotalsStep(row.ended_at);
    this.#add({ organisationId: row.organisation_id, hour, requests: 1, id: noId });
  }

  #add({ organisationId, hour, requests, id }: LostRequests): void {
    let hours = this.#byOrganisation.get(organisationId);
    if (hours === undefined) {
      hours = new Map();
      this.#byOrganisation.set(organisationId, hours);
    }
    const before = hours.get(hour);
    // Counts that are not in the database yet keep the id of the first one.
    const named = before?.id ?? (id === noId ? newIdBytes() : id);
    hours.set(hour, {
      organisationId,
      hour,
      requests: requests + (before?.requests ?? 0),
      id: named,
    });
  }

  /** One record for each organisation. */
  encode(): Buffer[] {
    return [...this.#byOrganisation.values()].map((hours) => encodeLosses([...hours.values()]));
  }
}

const noId = Buffer.alloc(0);
