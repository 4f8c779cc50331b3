/** Waits for the request log. */
import { eventually } from './eventually.ts';

/** Resolves once a gateway has written all its log entries. */
export async function logIsWritten({ metricsUrl }: { readonly metricsUrl: string }): Promise<void> {
  await eventually(async () => {
    const text = await (await fetch(`${metricsUrl}/metrics`)).text();
    const waiting = /^gatewright_request_log_waiting (\d+)$/m.exec(text)?.[1];
    if (waiting !== '0') throw new Error(`${waiting} wait for the log`);
  });
}
