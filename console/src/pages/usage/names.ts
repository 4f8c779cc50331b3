/** Finds the names of keys, workspaces, configs and guardrails whose ids are values of groups. */
import type { BodyOf } from '../../api/client.ts';
import { useReply } from '../../api/use-reply.ts';
import { queryOf } from '../../routing/routes.ts';

const pageSize = 50;
/** Lists that cannot be narrowed to ids: their newest page is read, and older ids stay without a name. */
const lists = {
  workspace: '/v1/workspaces',
  config: '/v1/configs',
  guardrail: '/v1/guardrails',
} as const;

/** Names by id. The key that the page's query names is left to {@link useKeyName}. */
export function useNames(
  dimension: string,
  values: readonly string[],
): ReadonlyMap<string, string> {
  const list = Object.hasOwn(lists, dimension) ? lists[dimension as keyof typeof lists] : undefined;
  const ids = dimension === 'api_key' ? values.filter((id) => id !== queryOf().get('key')) : [];
  const keys = useReply('/v1/api-keys', {
    query: { ids: ids.join(','), page_size: pageSize },
    isOn: ids.length > 0,
  });
  const listed = useReply(list ?? lists.workspace, {
    query: { page_size: pageSize },
    isOn: list !== undefined && values.length > 0,
  });
  const body: NamedList | null = list === undefined ? keys.body : listed.body;
  return new Map((body?.data ?? []).map(({ id, name }) => [id, name]));
}

interface NamedList {
  readonly data: readonly { readonly id: string; readonly name: string }[];
}

/** Name of the key that the page's query names, once it is known. */
export function useKeyName(): string | undefined {
  const id = queryOf().get('key') ?? '';
  const { body } = useReply('/v1/api-keys', { query: { ids: id, page_size: 1 }, isOn: id !== '' });
  const keys: BodyOf<'/v1/api-keys'>['data'] = body?.data ?? [];
  return keys.find((key) => key.id === id)?.name;
}
