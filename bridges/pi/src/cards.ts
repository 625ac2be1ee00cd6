// Cards: what the user is shown when guardian asks, and what their choice means.
import type { PermissionRequest } from "./wire.d.ts";

/** A notification `permissions.request`. */
export type Card = PermissionRequest & { card?: string[] };

export interface Answer {
  decision: string;
  rule?: number;
  feedback?: string;
}

export interface Choice {
  label: string;
  answer: Answer;
  /** Ask for words to go with it. */
  wantsWords?: boolean;
}

const DENY: Answer = { decision: "deny" };

/** The choices of a card, in the order shown. Labels are distinct: the answer comes back as text. */
export function choicesOf(card: Card): Choice[] {
  const allowed = new Set(card.allowedDecisions);
  const choices: Choice[] = [];
  if (allowed.has("allow-once")) choices.push({ label: "Allow once", answer: { decision: "allow-once" } });
  if (allowed.has("allow-session")) {
    const reach = card.grantSentence ?? `${card.toolName}, until this session ends`;
    choices.push({ label: `Allow: ${reach}`, answer: { decision: "allow-session" } });
  }
  card.suggestions.forEach((suggestion, rule) => {
    if (!allowed.has(suggestion.decision)) return;
    choices.push({ label: `Always allow: ${suggestion.sentence}`, answer: { decision: suggestion.decision, rule } });
  });
  choices.push({ label: "Deny", answer: DENY }, { label: "Deny and say why", answer: DENY, wantsWords: true });
  const seen = new Set<string>();
  return choices.filter((choice) => !seen.has(choice.label) && seen.add(choice.label));
}

/** What is shown above the choices. */
export function titleOf(card: Card, asker?: string): string {
  const lines = card.card?.length ? [...card.card] : [card.reason, card.summary];
  // Its last lines list the answers, which are the options here. Only the last ones: whatever looks
  // like that further up is text of the call, and is shown.
  const answers = new Set(card.allowedDecisions.map((word) => `[${word}]`));
  while (answers.has(/^ {2}(\[[a-z-]+\]) /.exec(lines.at(-1) ?? "")?.[1] ?? "")) lines.pop();
  return [...(asker ? [`${asker} asks:`] : []), ...lines].join("\n");
}

export interface Dialogs {
  select(title: string, options: string[], opts: { signal: AbortSignal; timeout?: number }): Promise<string | undefined>;
  input(title: string, placeholder: string | undefined, opts: { signal: AbortSignal }): Promise<string | undefined>;
}

/**
 * Shows cards one after the other and gives the answers. Only the exact text of an option is an
 * answer: a closed dialog, an abort, an error and any other text are denials.
 */
export class CardDesk {
  #last: Promise<unknown> = Promise.resolve();
  #open = new Map<string, AbortController>();

  ask(card: Card, dialogs: Dialogs, signals: (AbortSignal | undefined)[], asker?: string): Promise<Answer> {
    const gone = new AbortController();
    this.#open.set(card.requestId, gone);
    const signal = AbortSignal.any([gone.signal, ...signals.filter((one) => one !== undefined)]);
    const answered = this.#last.then(() => this.#show(card, dialogs, signal, asker)).catch(() => DENY);
    this.#last = answered;
    return answered.finally(() => this.#open.delete(card.requestId));
  }

  /** guardian settled it (deadline, abort): take the dialog away. */
  settled(requestId: string): void {
    this.#open.get(requestId)?.abort();
  }

  async #show(card: Card, dialogs: Dialogs, signal: AbortSignal, asker?: string): Promise<Answer> {
    const timeout = card.deadline - Date.now();
    if (signal.aborted || timeout <= 0) return DENY;
    const choices = choicesOf(card);
    const picked = await dialogs.select(titleOf(card, asker), choices.map((choice) => choice.label), { signal, timeout });
    const choice = choices.find((one) => one.label === picked);
    if (!choice || signal.aborted) return DENY;
    if (!choice.wantsWords) return choice.answer;
    const words = await dialogs.input("What should the model know?", undefined, { signal });
    return words?.trim() ? { ...DENY, feedback: words.trim() } : DENY;
  }
}
