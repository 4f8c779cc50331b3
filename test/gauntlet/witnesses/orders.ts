/** Lets the gauntlet direct a witness, which is a process of its own: one JSON document a line on standard input. */
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** Calls `onOrder` for every order. */
export function readOrders<Order>(onOrder: (order: Order) => void): void {
  createInterface({ input: process.stdin }).on('line', (line) =>
    onOrder(JSON.parse(line) as Order),
  );
}

/** Tells the gauntlet that this process listens. */
export function reportReady(facts: object): void {
  process.stdout.write(`${JSON.stringify(facts)}\n`);
}

/** Appends a record to the journal of the witness, which outlives its process. */
export function record(path: string, entry: object): void {
  appendFileSync(path, `${JSON.stringify(entry)}\n`);
}
