(** * Pick-to-learn: the risk of a model that saw only what it picked

    Of [N] independent examples a rule selects some: those that it picks, and those that the final
    model still gets wrong. With [k] of them selected, the risk of the final model exceeds [ε k]
    with probability at most [δ], whatever the model is (Campi & Garatti 2023; Paccagnan, Campi &
    Garatti 2023). The proof is that of the docstring of [pick_to_learn/bound.py], with two steps
    less: neither exchangeability nor that ties between examples have probability 0 is used. *)

From mathcomp Require Import all_ssreflect all_algebra.
From dudley Require Import Draws.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Counting *)

Lemma card_le N (A : {set 'I_N}) : (#|A| <= N)%N.
Proof. by move: (max_card (mem A)); rewrite card_ord. Qed.

Lemma card_setC N (A : {set 'I_N}) : #|~: A| = (N - #|A|)%N.
Proof. by apply/eqP; rewrite -(eqn_add2l #|A|) cardsC card_ord subnKC ?card_le. Qed.

Lemma card_above N (Z : {set 'I_N}) m : (m <= N)%N ->
  #|[set A : {set 'I_N} | (Z \subset A) && (#|A| == m)]| = 'C(N - #|Z|, N - m).
Proof.
move=> mN; have le := @card_le N.
rewrite -card_setC -cards_draws -(card_imset _ (@setC_inj _)); apply: eq_card => B.
rewrite -[B]setCK (mem_imset _ _ (@setC_inj _)) !inE setCK -setCS setCK; congr (_ && _).
rewrite -[B in RHS]setCK [in RHS]card_setC; apply/eqP/eqP => [->|e] //.
by rewrite -[LHS](subKn (le _)) e subKn.
Qed.

Lemma bin_swap N m k : (k <= m)%N -> (m <= N)%N ->
  ('C(N, m) * 'C(m, k) = 'C(N, k) * 'C(N - k, N - m))%N.
Proof.
move=> km mN; have kN := leq_trans km mN; have small : (N - m <= N - k)%N by rewrite leq_sub2l.
have pos : (0 < k`! * (m - k)`! * (N - m)`!)%N by rewrite !muln_gt0 !fact_gt0.
apply/eqP; rewrite -(eqn_pmul2r pos); apply/eqP; transitivity N`!.
  by rewrite -(bin_fact mN) -(bin_fact km) -!mulnA.
have rest : (N - k - (N - m) = m - k)%N by rewrite subnBA // addnBAC // subnAC addKn.
by rewrite -(bin_fact kN) -(bin_fact small) rest -!mulnA [((m - k)`! * _)%N]mulnC; congr (_ * _)%N;
   rewrite mulnCA.
Qed.

Lemma prod_bool (R : realFieldType) (I : finType) (B : {set I}) (b : I -> bool) :
  \prod_(i in B) (b i)%:R = [forall i in B, b i]%:R :> R.
Proof.
case: forall_inP => [all|none]; first by rewrite big1 // => i /all->.
have : [exists i in B, ~~ b i] by rewrite -negb_forall_in; apply/forall_inP.
by case/exists_inP => i iB /negbTE bi; rewrite (bigD1 i) //= bi mul0r.
Qed.

(** ** Schemes of selection *)

Section Scheme.

Variables (R : realFieldType) (X : finType) (μ : X -> R) (N : nat).
Hypothesis μ_ok : distribution μ.

Notation sample := (sample X N).
Notation positions := {set 'I_N}.
Implicit Types (A Z : positions) (s : sample).

(** [select A s]: what the rule selects when it is given the examples at [A] alone. [fixed Z s]:
    given the examples at [Z] alone, it selects all of them. [seen Z s w x]: run on those and on the
    example [x] at position [w], it would pick [x], or get it wrong at the end. *)
Variables (select : positions -> sample -> positions) (fixed : positions -> pred sample).
Variable seen : positions -> sample -> 'I_N -> pred X.

(** Both look at the examples at [Z] alone; *)
Hypothesis fixed_reads : forall Z s w x, w \notin Z -> fixed Z (put s w x) = fixed Z s.
Hypothesis seen_reads : forall Z s w x v y, w \notin Z -> seen Z (put s w x) v y = seen Z s v y.

(** and a selection is what is fixed when no further example is seen: (i) and (ii) of the rule. *)
Hypothesis selectP : forall A Z s, (select A s == Z) =
  [&& Z \subset A, fixed Z s & [forall w in A :\: Z, ~~ seen Z s w (s w)]].

(** The probability that a new example at position [w] is not seen. *)
Definition unseen Z s w := chance μ (fun x => ~~ seen Z s w x).

Lemma unseen_ge0 Z s w : 0 <= unseen Z s w.
Proof. exact: chance_ge0. Qed.

Lemma unseen_reads Z s w x v : w \notin Z -> unseen Z (put s w x) v = unseen Z s v.
Proof. by move=> wZ; apply: eq_mean => y; rewrite seen_reads. Qed.

(** Given the examples at [Z], the others are seen or not independently of each other. *)
Lemma Mean_unseen Z (B : positions) f : [disjoint B & Z] ->
  (forall s w x, w \notin Z -> f (put s w x) = f s) ->
  Mean μ (fun s => f s * \prod_(w in B) (~~ seen Z s w (s w))%:R) =
  Mean μ (fun s => f s * \prod_(w in B) unseen Z s w).
Proof.
elim: {B}#|B| {-2}B (erefl #|B|) f => [|b IH] B sizeB f BZ reads.
  by move/eqP: sizeB; rewrite cards_eq0 => /eqP->; apply: eq_Mean => s; rewrite !big_set0.
have [w wB] : exists w, w \in B by apply/set0Pn; rewrite -card_gt0 sizeB.
have wZ : w \notin Z by apply/negP => wZ; move/pred0P: BZ => /(_ w); rewrite /= wB wZ.
have sizeD : #|B :\ w| = b by move: (cardsD1 w B); rewrite wB sizeB => -[].
have DZ : [disjoint B :\ w & Z] by apply: disjointWl BZ; apply: subsetDl.
transitivity (Mean μ (fun s => f s * unseen Z s w * \prod_(v in B :\ w) (~~ seen Z s v (s v))%:R)).
  rewrite (redraw μ_ok w); apply: eq_Mean => s.
  rewrite /unseen /chance -mulrA [mean _ _ * _]mulrC mulrA -mean_mul.
  apply: eq_mean => x; rewrite (big_setD1 w wB) /= put_same reads // seen_reads // mulrCA mulrC.
  congr (_ * _ * _); apply: eq_bigr => v; rewrite !inE => /andP[vw _].
  by rewrite put_other // seen_reads.
rewrite (IH _ sizeD (fun s => f s * unseen Z s w) DZ); last first.
  by move=> s v x vZ; rewrite reads // unseen_reads.
by apply: eq_Mean => s; rewrite (big_setD1 w wB) /= mulrA.
Qed.

(** The probability that [Z] is selected from [A], and that [e], a fact about [Z], holds. *)
Lemma Prob_select A Z (e : pred sample) : Z \subset A ->
  (forall s w x, w \notin Z -> e (put s w x) = e s) ->
  Prob μ (fun s => (select A s == Z) && e s) =
  Mean μ (fun s => (fixed Z s && e s)%:R * \prod_(w in A :\: Z) unseen Z s w).
Proof.
move=> ZA reads; rewrite -Mean_unseen; last first.
- by move=> s w x wZ; rewrite fixed_reads // reads.
- by rewrite disjoints_subset; apply/subsetP => w; rewrite !inE => /andP[].
apply: eq_Mean => s; rewrite selectP ZA /= -andbA.
rewrite prod_bool.
by case: (fixed _ _); case: (e s); case: [forall _ in _, _]; rewrite ?mulr0 ?mulr1 ?mul0r ?mul1r.
Qed.

(** From every [A] exactly one selection is made. *)
Lemma sum_select A :
  \sum_(Z : positions | Z \subset A)
    Mean μ (fun s => (fixed Z s)%:R * \prod_(w in A :\: Z) unseen Z s w) = 1.
Proof.
transitivity (\sum_(Z : positions | Z \subset A) Prob μ (fun s => (select A s == Z) && true)).
  apply: eq_bigr => Z ZA; rewrite (@Prob_select A Z predT ZA) //.
  by apply: eq_Mean => s; rewrite andbT.
rewrite -Mean_sum -[RHS](Mean_const N μ_ok 1); apply: eq_Mean => s.
rewrite (bigD1 (select A s)) /= => [|]; last first.
  by move: (eqxx (select A s)); rewrite selectP => /and3P[].
by rewrite eqxx big1 ?addr0 // => Z /andP[_]; rewrite andbT eq_sym => /negbTE->.
Qed.

(** ** The theorem *)

(** The model made from the examples at [Z] is wrong at [x]: then [x] would be seen. *)
Variable wrong : positions -> sample -> pred X.
Hypothesis wrong_reads : forall Z s w x y, w \notin Z -> wrong Z (put s w x) y = wrong Z s y.
Hypothesis wrong_seen : forall Z s w x, w \notin Z -> wrong Z s x -> seen Z s w x.

Definition risk Z s := chance μ (wrong Z s).

(** Weights [λ] that sum to at most [δ], and a curve [ε]:
    [Σ_m λ_m C(m,k)/C(N,k) (1−ε)^{−(N−m)} ≥ 1] at [ε = ε k], unless [ε k ≥ 1]. *)
Variables (λ ε : nat -> R) (δ : R).
Hypothesis λ_ge0 : forall m, 0 <= λ m.
Hypothesis λ_sum : \sum_(m < N) λ m <= δ.
Hypothesis ε_ok : forall k, (k <= N)%N -> ε k < 1 ->
  1 <= \sum_(m < N | (k <= m)%N) λ m * ('C(m, k)%:R / 'C(N, k)%:R) / (1 - ε k) ^+ (N - m).

Lemma unseen_le Z s w : w \notin Z -> unseen Z s w <= 1 - risk Z s.
Proof.
by move=> wZ; rewrite /unseen (chance_not μ_ok) ler_sub // chance_le // => x; apply: wrong_seen.
Qed.

Lemma prod_unseen Z s A : Z \subset A -> ε #|Z| < risk Z s ->
  \prod_(w in setT :\: Z) unseen Z s w <=
  (1 - ε #|Z|) ^+ (N - #|A|) * \prod_(w in A :\: Z) unseen Z s w.
Proof.
move=> ZA large; rewrite (big_setID A) /= setTD setIC -setDE mulrC.
apply: ler_wpmul2r; first by apply: prodr_ge0 => w _; apply: unseen_ge0.
have -> : ~: Z :\: A = ~: A.
  by rewrite setDE; apply/setIidPr; rewrite setCS.
rewrite -card_setC -prodr_const; apply: ler_prod => w; rewrite inE => wA; rewrite unseen_ge0 /=.
have wZ : w \notin Z by apply: contra wA; apply: (subsetP ZA).
by apply: le_trans (unseen_le s wZ) _; rewrite ler_sub // ltW.
Qed.

Lemma prob_fixed_large Z :
  Mean μ (fun s => (fixed Z s && (ε #|Z| < risk Z s))%:R * \prod_(w in setT :\: Z) unseen Z s w)
  <= \sum_(m < N) λ m / 'C(N, m)%:R * \sum_(A : positions | (Z \subset A) && (#|A| == m))
       Mean μ (fun s => (fixed Z s)%:R * \prod_(w in A :\: Z) unseen Z s w).
Proof.
under eq_bigr => m _ do rewrite -Mean_sum -Mean_mul.
rewrite -Mean_sum; apply: (Mean_le μ_ok) => s.
have pos m : 0 <= λ m / 'C(N, m)%:R * \sum_(A : positions | (Z \subset A) && (#|A| == m))
    (fixed Z s)%:R * \prod_(w in A :\: Z) unseen Z s w.
  rewrite mulr_ge0 ?divr_ge0 ?ler0n // sumr_ge0 // => A _.
  by rewrite mulr_ge0 ?ler0n // prodr_ge0 // => w _; apply: unseen_ge0.
case: (boolP (_ && _)) => [/andP[fixedZ large]|_]; last by rewrite mul0r sumr_ge0.
rewrite mul1r; set Q := \prod_(w in _) _; set k := #|Z|; set e := 1 - ε k.
have kN : (k <= N)%N := card_le Z.
have ε_lt1 : ε k < 1 by apply: lt_le_trans large _; apply: chance_le1.
have e_gt0 : 0 < e by rewrite subr_gt0.
apply: le_trans (_ : Q * (\sum_(m < N | (k <= m)%N)
    λ m * ('C(m, k)%:R / 'C(N, k)%:R) / e ^+ (N - m)) <= _).
  by rewrite ler_pemulr ?ε_ok // prodr_ge0 // => w _; apply: unseen_ge0.
rewrite big_distrr /= big_mkcond /=; apply: ler_sum => m _.
case: ifP => [km|_]; last exact: pos.
have mN : (m <= N)%N := ltnW (ltn_ord m).
apply: le_trans (_ : λ m / 'C(N, m)%:R *
    (\sum_(A : positions | (Z \subset A) && (#|A| == m)) Q / e ^+ (N - m)) <= _); last first.
  rewrite ler_wpmul2l ?divr_ge0 ?ler0n //; apply: ler_sum => A /andP[ZA /eqP <-].
  by rewrite fixedZ mul1r ler_pdivr_mulr ?exprn_gt0 // mulrC; apply: prod_unseen.
rewrite sum_const card_above // -[X in _ <= _ * X]mulr_natl.
have swap : 'C(m, k)%:R / 'C(N, k)%:R = 'C(N - k, N - m)%:R / 'C(N, m)%:R :> R.
  have Ck : 'C(N, k)%:R != 0 :> R by rewrite pnatr_eq0 -lt0n bin_gt0.
  have Cm : 'C(N, m)%:R != 0 :> R by rewrite pnatr_eq0 -lt0n bin_gt0.
  apply: (mulIf Ck); rewrite divfK // mulrAC; apply: (mulIf Cm); rewrite divfK //.
  by rewrite -!natrM mulnC bin_swap // mulnC.
rewrite swap -/k !mulrA le_eqVlt; apply/orP; left; apply/eqP; congr (_ / _).
by rewrite [RHS]mulrC !mulrA mulrAC.
Qed.

Theorem pick_to_learn :
  Prob μ (fun s => ε #|select setT s| < risk (select setT s) s) <= δ.
Proof.
have -> : Prob μ (fun s => ε #|select setT s| < risk (select setT s) s) = \sum_(Z : positions)
    Mean μ (fun s => (fixed Z s && (ε #|Z| < risk Z s))%:R * \prod_(w in setT :\: Z) unseen Z s w).
  transitivity (\sum_(Z : positions) Prob μ (fun s => (select setT s == Z) && (ε #|Z| < risk Z s))).
    rewrite -Mean_sum; apply: eq_Mean => s; rewrite (bigD1 (select setT s)) //= eqxx /=.
    by rewrite big1 ?addr0 // => Z; rewrite eq_sym => /negbTE->.
  apply: eq_bigr => Z _; apply: Prob_select => [|s w x wZ]; first exact: subsetT.
  by congr (_ < _); apply: eq_mean => y; rewrite wrong_reads.
apply: le_trans (ler_sum _ (fun Z _ => prob_fixed_large Z)) _.
rewrite exchange_big /=; apply: le_trans _ λ_sum; apply: ler_sum => m _.
rewrite -big_distrr /= (exchange_big_dep (fun A => #|A| == m)) /=; last by move=> Z A _ /andP[].
have mN : (m <= N)%N := ltnW (ltn_ord m).
rewrite (eq_bigr (fun => 1)) => [|A Am]; last first.
  by rewrite -[RHS](sum_select A); apply: eq_bigl => Z; rewrite Am andbT.
by rewrite sum_const card_draws card_ord divfK // pnatr_eq0 -lt0n bin_gt0.
Qed.

End Scheme.

