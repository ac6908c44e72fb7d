/** What DRPC's Alg. 1 puts together. A deployment is named; its actions are carried out by Alg. 2 wherever they are decided. */
export interface SystemWide<Action> {
  /** Stage 1: the central module decides on all deployments and scales them. @returns what it decided, by deployment */
  readonly central: () => Promise<ReadonlyMap<string, Action>>;
  /** Trains the network of one deployment on its own part of that. */
  readonly train: (deployment: string, action: Action) => void;
  /** Stage 2: every deployment decides and scales by itself. */
  readonly distributed: () => Promise<void>;
  /** The retraining notifier: whether the next pass is of stage 1. */
  readonly notifier: () => boolean;
  /** Printed, the loop has no end. */
  readonly isOver: () => boolean;
}

/**
 * DRPC, Alg. 1. Line 14 is printed within stage 2; were it asked there alone, training would never end, so the notifier is asked after
 * either stage.
 * @param isTraining line 1: the stage of the first pass
 */
export async function actSystemWide<Action>(
  { central, distributed, isOver, notifier, train }: SystemWide<Action>,
  isTraining: boolean,
): Promise<void> {
  let trainingMode = isTraining;
  while (!isOver()) {
    if (trainingMode) {
      for (const [deployment, action] of await central()) train(deployment, action);
    } else await distributed();
    trainingMode = notifier();
  }
}
