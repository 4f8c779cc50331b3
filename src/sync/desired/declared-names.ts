/** Checks what manifests name by slug against what the source declares. */
import type { ExternalResource, Identity } from '../resources/resource-set.ts';
import type { Declaration } from '../validation/declaration.ts';
import type { ReferenceReports } from './identities.ts';
import { DeclaredGuardrails } from './named-guardrails.ts';
import { DeclaredProviders } from './named-providers.ts';

export class DeclaredNames {
  readonly #providers: DeclaredProviders;
  readonly #guardrails: DeclaredGuardrails;

  constructor(
    declarations: readonly Declaration[],
    externals: readonly ExternalResource[],
    reports: ReferenceReports,
  ) {
    this.#providers = new DeclaredProviders(declarations, externals, reports);
    this.#guardrails = new DeclaredGuardrails(declarations, externals, reports);
  }

  /** Reports names without a resource, and returns the references with the declared ones. */
  addNamed(
    references: readonly Identity[],
    declaration: Declaration,
    isComplete: boolean,
  ): Identity[] {
    this.#guardrails.checkNamed(declaration);
    return this.#providers.addNamed(references, declaration, isComplete);
  }
}
