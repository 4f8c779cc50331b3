/** Builds and parses the records of stored responses and their input items. */
import type { StoredResponse, TurnRow } from '../../store/objects/responses.ts';

export type ResponseItem = Readonly<Record<string, unknown>>;

/** The fields that are read; all others are passed through. */
export interface ResponseRecord extends ResponseItem {
  readonly id: string;
  readonly status: StoredResponse['status'];
  readonly output: readonly ResponseItem[];
}

export function parseRecord(row: Pick<StoredResponse, 'record'>): ResponseRecord {
  return JSON.parse(row.record) as ResponseRecord;
}

export function parseInput(row: Pick<TurnRow, 'input'>): ResponseItem[] {
  return JSON.parse(row.input) as ResponseItem[];
}

/** Longer ids do not fit the column of conversations. */
const itemIdCharsMax = 255;

function isItemId(id: unknown): boolean {
  return typeof id === 'string' && id.length <= itemIdCharsMax && /^[!-~]+$/.test(id);
}

/** Converts the input of a request to items with ids. */
export function inputItems(responseId: string, input: unknown): ResponseItem[] {
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  if (!Array.isArray(items)) return [];
  return (items as ResponseItem[]).map((item, at) => {
    const type = item.type ?? 'message';
    const own = `${prefixes.get(type) ?? 'item'}_in${responseId.slice(5)}${at.toString(16).padStart(4, '0')}`;
    const isText = type === 'message' && typeof item.content === 'string';
    const partType = item.role === 'assistant' ? 'output_text' : 'input_text';
    const content = isText ? { content: [{ type: partType, text: item.content }] } : {};
    return { ...item, ...content, type, id: isItemId(item.id) ? item.id : own };
  });
}

const prefixes = new Map<unknown, string>([
  ['message', 'msg'],
  ['function_call', 'fc'],
  ['function_call_output', 'fco'],
  ['reasoning', 'rs'],
]);

/** The record after the process that produced the response has died. */
export function lostRecord(record: ResponseRecord): ResponseRecord {
  return failedRecord(record, 'The gateway stopped before the response was complete');
}

export function failedRecord(record: ResponseRecord, message: string): ResponseRecord {
  return { ...record, status: 'failed', error: { code: 'server_error', message } };
}
