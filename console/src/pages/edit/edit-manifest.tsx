/** Edits the manifest of a managed resource: text, difference, plan, then a pull request or a patch. */
import { useEffect, useRef, useState } from 'preact/hooks';
import {
  type BodyOf,
  type PostedOf,
  postWhole,
  RequestFailed,
  readWhole,
} from '../../api/client.ts';
import { mayDo } from '../../api/session.ts';
import { Code } from '../../parts/code.tsx';
import { ActionDialog } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/fields.tsx';
import { Facts, Page, Problem, Section } from '../../parts/page.tsx';
import type { PageParts } from '../pages.ts';
import { PlanOfChange } from './plan-of-change.tsx';
import { TextArea } from './text-area.tsx';

type Manifest = BodyOf<'/admin/v2/gatewright/proposals/manifest'>;
export type Preview = PostedOf<'/admin/v2/gatewright/proposals/preview'>;
type OpenedPullRequest = PostedOf<'/admin/v2/gatewright/proposals'>;

export default function EditManifest({ parts }: { readonly parts: PageParts }) {
  const { kind = '', id = '' } = parts;
  const [manifest, setManifest] = useState<Manifest | null>(null);
  const [failure, setFailure] = useState<RequestFailed | null>(null);
  const [round, setRound] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    setManifest(null);
    setFailure(null);
    readWhole('/admin/v2/gatewright/proposals/manifest', { kind, id }).then(
      (body) => isCurrent && setManifest(body),
      (error: unknown) => isCurrent && setFailure(asFailure(error)),
    );
    return () => {
      isCurrent = false;
    };
  }, [kind, id, round]);
  return (
    <Page
      title="Edit a manifest"
      about="The change goes to the repository; sync applies it once it is merged."
    >
      {failure !== null && <Problem error={failure} onRetry={() => setRound(round + 1)} />}
      {failure === null && manifest === null && <p class="quiet loading">Loading…</p>}
      {manifest !== null && (
        <Editor key={round} of={manifest} onReload={() => setRound(round + 1)} />
      )}
    </Page>
  );
}

interface EditorProps {
  readonly of: Manifest;
  readonly onReload: () => void;
}

function Editor({ of: manifest, onReload }: EditorProps) {
  const [text, setText] = useState(manifest.manifest);
  const [preview, setPreview] = useState<Preview | null>(null);
  const [failure, setFailure] = useState<RequestFailed | null>(null);
  const [isBusy, setBusy] = useState(false);
  const { kind, id, commit: base } = manifest;
  const change = { kind, id, base, manifest: text };
  const ask = (event: Event): void => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    setFailure(null);
    postWhole('/admin/v2/gatewright/proposals/preview', change)
      .then(setPreview, (error: unknown) => setFailure(asFailure(error)))
      .finally(() => setBusy(false));
  };
  const edit = (next: string): void => {
    setText(next);
    setPreview(null);
  };
  return (
    <>
      <Section title="Manifest">
        <Facts
          facts={[
            ['Source', <code key="source">{manifest.source}</code>],
            ['File', <code key="file">{`${manifest.path}:${manifest.line}`}</code>],
            ['Read by sync at', <code key="commit">{base.slice(0, 12)}</code>],
          ]}
        />
        <form onSubmit={ask}>
          <TextArea label="YAML" value={text} onValue={edit} />
          <div class="actions">
            <button type="submit" class="main" disabled={isBusy || text === manifest.manifest}>
              Preview
            </button>
          </div>
        </form>
      </Section>
      {failure !== null && <Problem error={failure} onRetry={onReload} />}
      {preview !== null && <Outcome preview={preview} change={change} of={manifest} />}
    </>
  );
}

interface OutcomeProps {
  readonly preview: Preview;
  readonly change: object;
  readonly of: Manifest;
}

function Outcome({ preview, change, of: manifest }: OutcomeProps) {
  const [isOpening, setOpening] = useState(false);
  const [opened, setOpened] = useState<OpenedPullRequest | null>(null);
  if (preview.patch === '') return <p class="note">The text changes nothing.</p>;
  const isBroken = preview.faults.some(({ is_new: isNew }) => isNew);
  const opensRequest = preview.delivery === 'pull-request';
  return (
    <>
      <PlanOfChange of={preview} />
      <Section title={opensRequest ? 'Pull request' : 'Patch'}>
        {isBroken && <p>Mend the faults above first.</p>}
        {!isBroken && !opensRequest && (
          <>
            <p>
              No Git host is configured for this source. Apply the patch in the repository with `git
              apply`.
            </p>
            <Code text={preview.patch} label="Patch" />
          </>
        )}
        {!isBroken && opensRequest && opened === null && (
          <button
            type="button"
            class="main"
            disabled={!mayDo('organisation_settings.update')}
            onClick={() => setOpening(true)}
          >
            Open pull request…
          </button>
        )}
        {opened !== null && <OpenedNote of={opened} />}
      </Section>
      {isOpening && (
        <OpenDialog
          change={change}
          manifest={manifest}
          host={preview.git_host?.host ?? ''}
          onOpened={setOpened}
          onClose={() => setOpening(false)}
        />
      )}
    </>
  );
}

interface OpenProps {
  readonly change: object;
  readonly manifest: Manifest;
  readonly host: string;
  readonly onOpened: (opened: OpenedPullRequest) => void;
  readonly onClose: () => void;
}

/** A repetition from the same dialog opens no second pull request. */
function OpenDialog({ change, manifest, host, onOpened, onClose }: OpenProps) {
  const [title, setTitle] = useState(`Change ${manifest.path}`);
  const key = useRef('');
  if (key.current === '') key.current = newKey();
  return (
    <ActionDialog
      title="Open a pull request"
      verb="Open pull request"
      onClose={onClose}
      act={async () => {
        const body = { ...change, title, proposal_key: key.current };
        onOpened(await postWhole('/admin/v2/gatewright/proposals', body));
      }}
    >
      <p>
        The server creates a branch with this change at {host}, and a pull request that asks to
        merge it. Nothing changes on this server before it is merged.
      </p>
      <TextField label="Title" value={title} onValue={setTitle} isRequired />
    </ActionDialog>
  );
}

function OpenedNote({
  of: { url, number, is_new: isNew, is_open: isOpen },
}: {
  readonly of: OpenedPullRequest;
}) {
  const isLink = /^https?:\/\//.test(url);
  return (
    <p role="status">
      {isNew ? 'Opened' : 'It exists already'}
      {isOpen ? ': ' : ', closed: '}
      {isLink ? (
        <a href={url} target="_blank" rel="noopener noreferrer">
          pull request {number}
        </a>
      ) : (
        <code>{url}</code>
      )}
    </p>
  );
}

function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

function asFailure(error: unknown): RequestFailed {
  return error instanceof RequestFailed ? error : new RequestFailed(0, String(error));
}
