/** Defines the bodies and responses of proposals: changes of manifests that become pull requests. */
import { z } from 'zod';
import { kindNames } from '../model/kinds/kinds.ts';
import { Commit } from '../model/kinds/sync-record.ts';
import { JsonRecord } from '../model/wire/json-record.ts';
import { gitHostForms } from '../settings/variables/forms.ts';

export const ManifestQuery = z.object({
  kind: z.enum(kindNames),
  id: z.uuid().describe('Id of the resource.'),
});

/** Where a change of the manifest goes. */
const delivery = {
  delivery: z
    .enum(['pull-request', 'patch'])
    .describe('`patch` where no Git host is configured for the source: copy it.'),
  git_host: z
    .object({
      form: z.enum(gitHostForms).describe('API of the Git host.'),
      host: z.string().describe('Host and port of the Git host.'),
    })
    .nullable()
    .describe('The Git host that receives the pull request; null for a patch.'),
};

const manifest = {
  kind: z.enum(kindNames),
  id: z.uuid().describe('Id of the resource.'),
  owner: z.string(),
  source: z.string().describe('Folder or Git URL of the source, without credentials.'),
  path: z.string().describe('File of the manifest, relative to the source.'),
  line: z.int().describe('Line of the manifest in the file, from 1.'),
  /** The version of the source that was read; send it back as `base`. */
  commit: z.string(),
  manifest: z.string().describe('YAML text of the document that declares the resource.'),
  ...delivery,
};

export const ManifestText = z.object({ object: z.literal('manifest'), ...manifest });

const manifestCharactersMax = 512 * 1024;

const change = {
  kind: z.enum(kindNames),
  id: z.uuid().describe('Id of the resource.'),
  base: Commit.describe(
    'Commit of the manifest that was edited; 409 after sync has read another, unless this proposal was opened before.',
  ),
  manifest: z
    .string()
    .max(manifestCharactersMax)
    .describe('The new text of the document.')
    .optional(),
  spec: JsonRecord.describe(
    'The new spec with the field names of manifests, in place of `manifest`; comments stay.',
  ).optional(),
};

export const PreviewBody = z.object(change);

export const ProposalBody = z.object({
  ...change,
  proposal_key: z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible characters')
    .describe('Key of the proposal: repetitions with it open one pull request.'),
  title: z.string().trim().min(1).max(200).optional(),
  description: z.string().max(10_000).describe('Text of the pull request.').optional(),
});

const FieldChange = z.object({
  path: z.string().describe('JSON pointer of the field.'),
  from: z.unknown().describe('Value on the server.'),
  to: z.unknown().describe('Value in the manifest.'),
  secret: z.boolean().describe('Whether the value is secret; then it is left out.'),
  loosens: z.boolean().describe('Whether the change loosens access.'),
});

const PlannedChange = z.object({
  id: z.string().describe('Identity of the resource: `Config/support/routing`.'),
  action: z.string().describe('What sync would do.'),
  reason: z.string().describe('Why sync would do it.'),
  loosens: z.boolean().describe('Whether the change loosens access.'),
  fields: z.array(FieldChange),
});

const BlockedChange = z.object({
  id: z.string().describe('Identity of the resource.'),
  reason: z.string().describe('Why sync would leave it as it is.'),
  message: z.string(),
});

const ChangeFault = z.object({
  path: z.string().describe('File of the fault.'),
  line: z.int(),
  column: z.int(),
  message: z.string(),
  fix: z.string().nullable().describe('How to mend it; null where that is not known.'),
  is_new: z
    .boolean()
    .describe('Whether the change causes the fault; such a change cannot be proposed.'),
});

export const ProposalPreview = z.object({
  object: z.literal('proposal_preview'),
  path: z.string().describe('File of the manifest, relative to the source.'),
  manifest: z.string().describe('YAML text of the changed document.'),
  file: z.string().describe('Text of the changed file.'),
  patch: z.string().describe('Difference of the file, for `git apply`; empty for no change.'),
  plan: z
    .object({
      changes: z.array(PlannedChange),
      blocked: z.array(BlockedChange).describe('Changes that sync would not make.'),
      warnings: z.array(z.string()),
    })
    .nullable()
    .describe('The changes beyond what sync does already; null where faults prevent a plan.'),
  faults: z.array(ChangeFault).describe('Faults that the change causes, and those of its file.'),
  ...delivery,
});

export const OpenedProposal = z.object({
  object: z.literal('proposal'),
  url: z.url().describe('Address of the pull request.'),
  number: z.int().describe('Number of the pull request.'),
  branch: z.string().describe('Branch of the pull request.'),
  path: z.string().describe('File in the repository.'),
  is_open: z.boolean().describe('Whether the pull request is neither merged nor closed.'),
  is_new: z.boolean().describe('False for a repetition: the pull request existed.'),
});

export type Change = z.infer<typeof PreviewBody>;
export type ProposalPreview = z.infer<typeof ProposalPreview>;
export type OpenedProposal = z.infer<typeof OpenedProposal>;
export type ManifestText = z.infer<typeof ManifestText>;
