/** Knows Events of Kubernetes: what is told about an object, by `kubectl describe` and `kubectl get events`. */
import { type KubeClient, KubeRefusal } from './kube-client.ts';

export interface NewEvent {
  /** The same name again is the same Event, and told once. */
  readonly name: string;
  /** ms since the epoch */
  readonly at: number;
  readonly type: 'Normal' | 'Warning';
  /** One word. */
  readonly reason: string;
  readonly note: string;
  /** The ConfigMap that it is about; the Event lies beside it. */
  readonly about: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** Who tells it: a host. */
  readonly instance: string;
}

const noteBytesMax = 1024;
const instanceMax = 128;

export async function createEvent(client: KubeClient, event: NewEvent): Promise<void> {
  const { name, at, type, reason, about, instance } = event;
  const { namespace } = about;
  try {
    await client.request({
      method: 'POST',
      path: `/apis/events.k8s.io/v1/namespaces/${namespace}/events`,
      body: {
        ...{ apiVersion: 'events.k8s.io/v1', kind: 'Event', metadata: { namespace, name } },
        ...{ eventTime: microTime(at), type, reason, action: 'Sync' },
        reportingController: 'gatewright.dev/sync',
        reportingInstance: instance.slice(0, instanceMax),
        regarding: { apiVersion: 'v1', kind: 'ConfigMap', ...about },
        note: cutToBytes(event.note, noteBytesMax),
      },
    });
  } catch (error) {
    if (error instanceof KubeRefusal && error.reason === 'AlreadyExists') return;
    throw error;
  }
}

/** ms since the epoch, in the one form that every version of the API takes. */
export function microTime(at: number): string {
  return new Date(at).toISOString().replace('Z', '000Z');
}

function cutToBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  const kept = new TextDecoder().decode(bytes.subarray(0, bytesMax - 3), { stream: true });
  return `${kept}…`;
}
