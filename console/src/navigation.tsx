/** Leads to the pages, and shows who is signed in and which workspace is shown. */
import { useEffect } from 'preact/hooks';
import { workspace } from './api/client.ts';
import { chooseWorkspace, session, signOut } from './api/session.ts';
import { useReply } from './api/use-reply.ts';
import { workspaces, workspacesBeyond } from './api/workspaces.ts';
import { pages } from './pages/pages.ts';
import { pathOf } from './routing/routes.ts';

const groups = ['Watch', 'Resources', 'Organisation'] as const;

export function Navigation() {
  const first = `/${pathOf().split('/')[1]}`;
  return (
    <aside class="navigation">
      <a class="brand" href="#/">
        gatewright
      </a>
      <WorkspaceChoice />
      <nav aria-label="Pages of the console">
        {groups.map((group) => (
          <div key={group}>
            <h2>{group}</h2>
            <ul>
              {pages
                .filter((page) => page.group === group && page.name !== undefined)
                .map(({ pattern, name }) => (
                  <li key={pattern}>
                    <a href={`#${pattern}`} aria-current={pattern === first ? 'page' : undefined}>
                      {name}
                    </a>
                  </li>
                ))}
            </ul>
          </div>
        ))}
      </nav>
      <div class="account">
        <DocumentationLink first={first} />
        <p title={session.value?.user.email}>{session.value?.user.email}</p>
        <p class="quiet">{session.value?.user.role}</p>
        <button type="button" onClick={() => void signOut()}>
          Sign out
        </button>
      </div>
    </aside>
  );
}

/** Leads to the documentation of what is on screen, where this server has it. */
function DocumentationLink({ first }: { readonly first: string }) {
  const docs = session.value?.addresses.docs ?? null;
  const page = pages.find(({ pattern }) => pattern === first)?.docs;
  if (docs === null) return null;
  return (
    <p>
      <a href={`${docs}${page ?? ''}`}>Documentation of this page</a>
    </p>
  );
}

/** A failure shows on the page, whose own requests fail as well. */
function choose(slug: string): void {
  chooseWorkspace(slug).catch(() => undefined);
}

/** Administrators choose among all workspaces, members among their own. */
function WorkspaceChoice() {
  const { user, workspaces: own = [] } = session.value ?? {};
  const isMember = user?.role === 'member';
  const { body } = useReply('/v1/admin/workspaces', { query: { page_size: 100 }, isOn: !isMember });
  const choices = isMember ? own : (body?.data ?? []);
  useEffect(() => {
    workspaces.value = choices;
    workspacesBeyond.value = isMember ? 0 : Math.max(0, (body?.total ?? 0) - choices.length);
  }, [body, session.value]);
  const firstOwn = own[0]?.slug;
  useEffect(() => {
    if (isMember && workspace.value === '' && firstOwn !== undefined) choose(firstOwn);
  }, [isMember, firstOwn]);
  const isListed = choices.some(({ slug }) => slug === workspace.value);
  return (
    <label class="field">
      <span>Workspace</span>
      <select value={workspace.value} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        {!isMember && <option value="">All workspaces</option>}
        {choices.map(({ slug, name }) => (
          <option key={slug} value={slug}>
            {name}
          </option>
        ))}
        {workspace.value !== '' && !isListed && (
          <option value={workspace.value}>{workspace.value}</option>
        )}
        {workspacesBeyond.value > 0 && (
          <option disabled>{workspacesBeyond.value} more: open one on the page Workspaces</option>
        )}
      </select>
    </label>
  );
}
