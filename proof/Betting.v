(** * Betting: a fair game that starts with 1 seldom reaches 1/δ

    [ville] is Ville's inequality for a fixed horizon. [betting] applies it to losses in [0, 1]: a
    mean at which the game has made 1/δ out of 1, at any moment, is an upper bound of the true mean
    with probability at least 1 − δ. The bets may depend on what came before. *)

From mathcomp Require Import all_ssreflect all_algebra ring.
From dudley Require Import Draws.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Ville.

Variables (R : realFieldType) (X : finType) (μ : X -> R) (n : nat).
Hypothesis μ_ok : distribution μ.
Notation sample := (sample X n).
Implicit Types (s : sample) (i j : 'I_n).

(** A game: before example [i] one decides, from what came before, how the capital will change. *)
Record game (g : 'I_n -> sample -> R) : Prop := Game {
  game_ge0 : forall i s, 0 <= g i s;
  game_past : forall i j s x, (i < j)%N -> g i (put s j x) = g i s;
  game_fair : forall i s, mean μ (fun x => g i (put s i x)) <= 1
}.

(** The capital after [t] examples. *)
Definition capital (g : 'I_n -> sample -> R) (t : nat) s := \prod_(i < n | (i < t)%N) g i s.

Lemma capital_ge0 g t s : game g -> 0 <= capital g t s.
Proof. by case=> g0 _ _; apply: prodr_ge0 => i _; apply: g0. Qed.

Lemma capital_past g t j s x : game g -> (t <= j)%N -> capital g t (put s j x) = capital g t s.
Proof. by case=> _ past _ tj; apply: eq_bigr => i it; apply: past (leq_trans it tj). Qed.

Lemma capitalS g s i : capital g i.+1 s = g i s * capital g i s.
Proof.
rewrite /capital (bigD1 i) ?ltnSn //=; congr (_ * _); apply: eq_bigl => j.
by rewrite ltnS andbC -val_eqE /= ltn_neqAle.
Qed.

(** The capital does not grow in the mean. *)
Lemma mean_capital g t : game g -> (t <= n)%N -> Mean μ (capital g t) <= 1.
Proof.
move=> fair; elim: t => [|t IH] tn.
  rewrite -[X in _ <= X](Mean_const n μ_ok 1); apply: (Mean_le μ_ok) => s.
  by rewrite /capital big_pred0.
apply: le_trans (IH (ltnW tn)); pose i := Ordinal tn.
rewrite (redraw μ_ok i); apply: (Mean_le μ_ok) => s.
apply: le_trans (_ : capital g t s * mean μ (fun x => g i (put s i x)) <= _); last first.
  by rewrite -[X in _ <= X]mulr1 ler_wpmul2l ?capital_ge0 ?game_fair.
rewrite -mean_mul; apply: (mean_le μ_ok) => x.
by rewrite (capitalS g _ i) capital_past // mulrC.
Qed.

Lemma markov (f : sample -> R) c : (forall s, 0 <= f s) -> 0 < c ->
  Prob μ (fun s => c <= f s) <= Mean μ f / c.
Proof.
move=> f0 c0; rewrite ler_pdivl_mulr // mulrC -Mean_mul; apply: (Mean_le μ_ok) => s.
by case: (leP c (f s)) => [cf|_]; rewrite ?mulr1 ?mulr0.
Qed.

Variables (g : 'I_n -> sample -> R) (c : R).
Hypotheses (fair : game g) (c_gt0 : 0 < c).

(** Has the capital been [c] at moment [i], or before? *)
Definition rich i s := [exists u : 'I_n, (u <= i)%N && (c <= capital g u s)].

(** The same game, left at the first such moment. *)
Definition stopped i s := if rich i s then 1 else g i s.

Lemma rich_put i j s x : (i <= j)%N -> rich i (put s j x) = rich i s.
Proof.
move=> ij; apply: eq_existsb => u; case: leqP => //= ui.
by rewrite capital_past // (leq_trans ui).
Qed.

Lemma stopped_game : game stopped.
Proof.
case: (fair) => g0 past one; split=> [i s|i j s x ij|i s].
- by rewrite /stopped; case: ifP => _; rewrite ?ler01.
- by rewrite /stopped rich_put ?past // ltnW.
rewrite (@eq_mean _ _ μ _ (fun x => if rich i s then 1 else g i (put s i x))).
  by case: (rich i s); [rewrite (mean_const μ_ok) | exact: one].
by move=> x; rewrite /stopped rich_put.
Qed.

Lemma stopped_rich s : [exists u : 'I_n.+1, c <= capital g u s] -> c <= capital stopped n s.
Proof.
case/existsP => u0 rich_u0.
have [u rich_u least] := @arg_minnP _ u0 (fun u : 'I_n.+1 => c <= capital g u s) id rich_u0.
suff -> : capital stopped n s = capital g u s by [].
rewrite /capital [LHS](bigID (fun i : 'I_n => (i < u)%N)) /= [X in _ * X]big1 => [|i].
  rewrite mulr1; apply: eq_big => [i|i /andP[_ iu]]; first by rewrite ltn_ord.
  rewrite /stopped ifN //; apply/negP => /existsP[v /andP[vi rich_v]].
  have := least (widen_ord (leqnSn n) v) rich_v; rewrite leqNgt /= => /negP; apply.
  exact: leq_ltn_trans iu.
case/andP=> _; rewrite -leqNgt => ui; rewrite /stopped ifT //.
by apply/existsP; exists (Ordinal (leq_ltn_trans ui (ltn_ord i))); rewrite ui.
Qed.

Theorem ville : Prob μ (fun s => [exists u : 'I_n.+1, c <= capital g u s]) <= c^-1.
Proof.
apply: le_trans (_ : Prob μ (fun s => c <= capital stopped n s) <= _).
  by apply: (Prob_le μ_ok) => s; apply: stopped_rich.
have pos s : 0 <= capital stopped n s by apply: capital_ge0 stopped_game.
apply: le_trans (markov pos c_gt0) _; rewrite ler_pdivr_mulr // mulVf ?gt_eqF //.
exact: mean_capital stopped_game _.
Qed.

End Ville.

Section Mean.

Variables (R : realFieldType) (X : finType) (μ : X -> R) (n : nat).
Hypothesis μ_ok : distribution μ.
Notation sample := (sample X n).

Variables (loss : X -> R) (bet : 'I_n -> sample -> R) (κ : R).
Hypothesis loss_range : forall x, 0 <= loss x <= 1.
Hypothesis bet_ge0 : forall i s, 0 <= bet i s.
Hypothesis bet_past : forall (i j : 'I_n) s x, (i <= j)%N -> bet i (put s j x) = bet i s.
Hypothesis κ_range : 0 <= κ <= 1.

(** The bet against the mean [m]: no more than the share [κ] of the capital can be lost. *)
Definition stake m i s := Order.min (bet i s) (κ / (1 - m)).
Definition against m i s := 1 + stake m i s * (m - loss (s i)).

Lemma against_ge0 m i s : m < 1 -> 0 <= against m i s.
Proof.
move=> m1; have d0 : 0 < 1 - m by rewrite subr_gt0.
have [κ0 κ1] := andP κ_range.
have [z0 z1] := andP (loss_range (s i)); set a := stake m i s.
have a0 : 0 <= a by rewrite le_minr bet_ge0 divr_ge0 // ltW.
have aκ : a * (1 - m) <= 1 by rewrite -ler_pdivl_mulr // (le_trans _ (_ : κ / (1 - m) <= _)) ?le_minl ?lexx ?orbT // ler_wpmul2r ?invr_ge0 // ltW.
rewrite /against -/a -ler_subl_addl sub0r; apply: le_trans (_ : - (a * (1 - m)) <= _).
  by rewrite ler_opp2.
by rewrite -mulrN ler_wpmul2l // opprB ler_sub.
Qed.

Lemma against_game m : m < 1 -> mean μ loss = m -> game μ (against m).
Proof.
move=> m1 mE; split=> [i s|i j s x ij|i s].
- exact: against_ge0.
- by rewrite /against /stake (bet_past _ _ (ltnW ij)) put_other // neq_ltn ij.
set a := stake m i s.
rewrite (@eq_mean _ _ μ _ (fun x => (1 + a * m) + - a * loss x)) => [|x]; last first.
  by rewrite /against /stake (bet_past _ _ (leqnn i)) put_same mulrBr addrA mulNr.
by rewrite mean_add mean_mul (mean_const μ_ok) mE mulNr addrK.
Qed.

(** A larger mean is refuted no later: each factor grows with [m]. *)
Lemma against_mono m m' i s : 0 <= m -> m <= m' -> m' < 1 -> against m i s <= against m' i s.
Proof.
move=> m0 mm m1; rewrite /against ler_add2l.
have [z0 z1] := andP (loss_range (s i)); set z := loss (s i) in z0 z1 *.
have d0 : 0 < 1 - m' by rewrite subr_gt0.
have d1 : 0 < 1 - m by rewrite subr_gt0 (le_lt_trans mm).
have [κ0 _] := andP κ_range; have b0 := bet_ge0 i s.
have le : stake m i s <= stake m' i s.
  rewrite le_minr !le_minl lexx /=; apply/orP; right.
  by rewrite ler_wpmul2l // lef_pinv ?posrE // ler_sub.
have st0 : 0 <= stake m' i s by rewrite le_minr b0 divr_ge0 // ltW.
have [zm|mz] := leP z m.
  apply: le_trans (_ : stake m' i s * (m - z) <= _); first by rewrite ler_wpmul2r ?subr_ge0.
  by rewrite ler_wpmul2l // ler_sub.
have stm : 0 <= stake m i s by rewrite le_minr b0 divr_ge0 // ltW.
have [zm'|m'z] := leP z m'.
  apply: le_trans (_ : 0 <= _); last by rewrite mulr_ge0 ?subr_ge0.
  by rewrite -oppr_ge0 -mulrN mulr_ge0 // opprB subr_ge0 ltW.
rewrite -ler_opp2 -!mulrN !opprB; set d := z - m; set d' := z - m'.
have dd : d' <= d by rewrite ler_sub.
have d'0 : 0 <= d' by rewrite subr_ge0 ltW.
have low : stake m' i s * d' <= bet i s * d.
  apply: le_trans (_ : bet i s * d' <= _); last by rewrite ler_wpmul2l.
  by rewrite ler_wpmul2r // /stake le_minl lexx.
have high : stake m' i s * d' <= κ / (1 - m) * d.
  apply: le_trans (_ : κ / (1 - m') * d' <= _).
    by rewrite ler_wpmul2r // /stake le_minl lexx orbT.
  rewrite -!mulrA ler_wpmul2l // ![_^-1 * _]mulrC ler_pdivr_mulr // mulrAC ler_pdivl_mulr //.
  by rewrite -subr_ge0 (_ : _ - _ = (m' - m) * (1 - z)) ?mulr_ge0 ?subr_ge0 // /d /d'; ring.
by rewrite {2}/stake; case: (leP (bet i s) (κ / (1 - m))).
Qed.

(** A mean [B] at which the game is won bounds the true mean. *)
Theorem betting (δ : R) (B : sample -> R) : 0 < δ ->
  (forall s, 0 <= B s /\ (B s < 1 ->
     [exists u : 'I_n.+1, δ^-1 <= capital (against (B s)) u s])) ->
  mean μ loss < 1 -> Prob μ (fun s => B s < mean μ loss) <= δ.
Proof.
move=> δ0 won m1; rewrite -[X in _ <= X]invrK.
apply: le_trans (ville μ_ok (against_game m1 erefl) (_ : 0 < δ^-1)); last by rewrite invr_gt0.
apply: (Prob_le μ_ok) => s Bm; have [B0 /(_ (lt_trans Bm m1))/existsP[u rich]] := won s.
apply/existsP; exists u; apply: le_trans rich _; apply: ler_prod => i _.
have B1 := lt_trans Bm m1.
by rewrite against_ge0 // against_mono // ltW.
Qed.

End Mean.

