/** Loads when keys were used last; the server records it to the hour. */
import { useEffect, useState } from 'preact/hooks';
import { change } from '../../api/client.ts';
import { mayDo } from '../../api/session.ts';

interface KeyUses {
  readonly data: readonly { readonly id: string; readonly last_used_at: string | null }[];
}

type LastUses = ReadonlyMap<string, string | null>;

/** Last uses by id of key, of at most 200 keys; null until they are loaded or where nobody may read them. */
export function useLastUses(ids: readonly string[]): LastUses | null {
  const [uses, setUses] = useState<LastUses | null>(null);
  const key = ids.join(',');
  useEffect(() => {
    if (key === '' || !mayDo('organisation_settings.read')) return;
    let isCurrent = true;
    change<KeyUses>('POST', '/admin/v2/gatewright/sync/key-uses', { ids }).then(
      ({ data }) => {
        if (isCurrent) setUses(new Map(data.map((use) => [use.id, use.last_used_at])));
      },
      () => {
        if (isCurrent) setUses(null);
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [key]);
  return uses;
}
