/** Says in words to which requests a policy applies and how it splits them. */
import type { RowOf } from '../../api/client.ts';
import { nameOfWorkspace } from '../../api/workspaces.ts';

type Policy = Pick<RowOf<'/v1/policies/rate-limits'>, 'conditions' | 'group_by'>;

const listOf = (value: string | readonly string[]): string =>
  typeof value === 'string' ? value : value.join(' or ');

/** `model is *, except @local/*`, one text for each condition. */
export const conditionTexts = ({ conditions }: Policy): readonly string[] =>
  conditions.map(({ key, value, excludes }) => {
    const isWorkspace = key === 'workspace_id' && typeof value === 'string' && value !== '*';
    const text = `${key} is ${isWorkspace ? nameOfWorkspace(value) : listOf(value)}`;
    return excludes === undefined ? text : `${text}, except ${listOf(excludes)}`;
  });

/** `metadata.team, model`. */
export const groupText = ({ group_by: groups }: Policy): string =>
  groups.map(({ key }) => key).join(', ');

/** Policies need no name. */
export const titleOf = ({ name, id }: { readonly name: string | null; readonly id: string }) =>
  name ?? id;
