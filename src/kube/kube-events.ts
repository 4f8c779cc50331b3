/** Creates Kubernetes Events, which `kubectl describe` and `kubectl get events` display. */
import type { KubeClient } from './kube-client.ts';
import { nullOnRefusal } from './kube-errors.ts';

export interface NewEvent {
  /** Creating the same name again has no effect. */
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly type: 'Normal' | 'Warning';
  /** One word. */
  readonly reason: string;
  readonly note: string;
  /** The ConfigMap that the Event is about; the Event is created in its namespace. */
  readonly about: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** Host of the reporting process. */
  readonly instance: string;
}

const noteBytesMax = 1024;
const instanceLengthMax = 128;

export async function createEvent(client: KubeClient, event: NewEvent): Promise<void> {
  const { name, at, type, reason, about, instance } = event;
  const { namespace } = about;
  await nullOnRefusal(
    (refusal) => refusal.reason === 'AlreadyExists',
    client.events.createNamespacedEvent({
      namespace,
      body: {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: { namespace, name },
        eventTime: client.microTime(at),
        type,
        reason,
        action: 'Sync',
        reportingController: 'gatewright.dev/sync',
        reportingInstance: instance.slice(0, instanceLengthMax),
        regarding: { apiVersion: 'v1', kind: 'ConfigMap', ...about },
        note: truncateToBytes(event.note, noteBytesMax),
      },
    }),
  );
}

function truncateToBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  const start = new TextDecoder().decode(bytes.subarray(0, bytesMax - 3), { stream: true });
  return `${start}…`;
}
