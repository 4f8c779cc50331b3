/** Asks for one workspace: by choice, or by its slug where there are more than the navigation has loaded. */
import { workspaces, workspacesBeyond } from '../api/workspaces.ts';
import { ChoiceField, TextField } from './fields.tsx';

interface WorkspaceFieldProps {
  /** Slug. */
  readonly value: string;
  readonly onValue: (slug: string) => void;
  /** The text for no workspace, where one is not required. */
  readonly noneText?: string;
}

export function WorkspaceField({ value, onValue, noneText }: WorkspaceFieldProps) {
  if (workspacesBeyond.value > 0) {
    return (
      <TextField
        label="Workspace (slug)"
        value={value}
        onValue={onValue}
        isRequired={noneText === undefined}
        hint={noneText === undefined ? '' : `empty: ${noneText}`}
      />
    );
  }
  const choices = workspaces.value.map(({ slug, name }) => [slug, name] as const);
  return (
    <ChoiceField
      label="Workspace"
      value={value}
      onValue={onValue}
      choices={noneText === undefined ? choices : [['', noneText], ...choices]}
    />
  );
}
