(** * Covers: one scale, a union, and how errors compose

    [norm_cover]: models whose margins are within γ/2 of one of finitely many, everywhere, obey the
    binomial bound of the cover at once. [round_cover] counts the cover that rounding makes for a
    Lipschitz family; [compose_cover] covers a composition of two blocks by pairs of centres. *)

From mathcomp Require Import all_ssreflect all_algebra ring.
From dudley Require Import Draws Binomial Errors.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section NormCover.

Variables (R : realFieldType) (X : finType) (μ : X -> R) (n : nat).
Hypothesis μ_ok : distribution μ.

(** The margins of all models of a class [Θ], of any size, and of the centres [I]. *)
Variables (Θ : Type) (margin : Θ -> X -> R) (I : finType) (center : I -> X -> R) (γ : R).
Hypothesis γ_ge0 : 0 <= γ.
Hypothesis cover : forall θ, exists i, forall x, `|margin θ x - center i x| <= γ / 2%:R.

(** A bound that more errors do not lower. *)
Variables (B : nat -> R -> R) (δ : R).
Hypotheses (δ_ge0 : 0 <= δ) (B_ok : upper_bound n B).
Hypothesis B_mono : forall k l a, (k <= l)%N -> B k a <= B l a.

Definition wrong θ : pred X := fun x => margin θ x <= 0.
Definition narrow θ : pred X := fun x => margin θ x <= γ.

(** With probability at least 1 − δ there is no model of the class whose risk exceeds the bound of
    its errors at margin γ, at δ divided by the size of the cover. *)
Theorem norm_cover (fails : pred (sample X n)) :
  (forall s, fails s ->
    exists θ, B (errors (narrow θ) s) (δ * (#|I|%:R)^-1) < chance μ (wrong θ)) ->
  Prob μ fails <= δ.
Proof.
move=> fail; have [noI|I_gt0] := posnP #|I|.
  have -> : Prob μ fails = 0; last by [].
  rewrite -(Mean_const n μ_ok 0); apply: eq_Mean => s; case: (boolP (fails s)) => // /fail[θ _].
  by have [i _] := cover θ; move: (card0_eq noI i); rewrite inE.
pose h i : pred X := fun x => center i x <= γ / 2%:R.
have sum1 : \sum_(i : I) (#|I|%:R^-1 : R) <= 1.
  by rewrite sumr_const -[X in X <= _]mulr_natr mulVf // pnatr_eq0 -lt0n.
have pos (i : I) : 0 <= (#|I|%:R^-1 : R) by rewrite invr_ge0 ler0n.
apply: le_trans (occam μ_ok h δ_ge0 pos sum1 B_ok).
apply: (Prob_le μ_ok) => s /fail[θ large]; have [i near] := cover θ.
have half : γ / 2%:R + γ / 2%:R = γ by field.
apply/existsP; exists i; apply: le_lt_trans (lt_le_trans large _).
  apply/B_mono/subset_leq_card/subsetP => j; rewrite !inE /h /narrow => small.
  rewrite -half -ler_subl_addr; apply: le_trans small; rewrite ler_subl_addr -ler_subl_addl.
  by apply: le_trans (near _); apply: ler_norm.
apply: (chance_le μ_ok) => x; rewrite /wrong /h => neg.
rewrite -[X in X <= _](subrK (margin θ x)) -[X in _ <= X]addr0 ler_add //.
by apply: le_trans (near x); rewrite distrC ler_norm.
Qed.

End NormCover.

(** ** The cover that rounding makes *)

Section Rounding.

Variables (R : realFieldType) (p K : nat) (η : R).
Hypothesis η_gt0 : 0 < η.

(** A number of at most [K η] is within [η] of one of the [2K + 1] multiples of [η]. *)
Lemma round_up (x : R) k : 0 <= x -> x <= k%:R * η -> exists2 j, (j <= k)%N & `|x - j%:R * η| <= η.
Proof.
move=> x0; elim: k => [|k IH] xk.
  exists 0%N => //; rewrite mul0r subr0 ger0_norm //; apply: le_trans xk _.
  by rewrite mul0r ltW.
have [small|large] := leP x (k%:R * η).
  by have [j jk near] := IH small; exists j; rewrite ?leqW.
exists k.+1 => //; rewrite distrC ger0_norm ?subr_ge0 // ler_subl_addr -addn1 natrD mulrDl mul1r addrC.
by rewrite ler_add2l ltW.
Qed.

Definition grid := {ffun 'I_p -> 'I_(K.*2.+1)}.
Definition point (z : grid) (i : 'I_p) : R := ((z i)%:R - K%:R) * η.

Lemma round (x : R) : `|x| <= K%:R * η ->
  exists z : 'I_(K.*2.+1), `|x - (z%:R - K%:R) * η| <= η.
Proof.
rewrite ler_norml => /andP[low high].
have x0 : 0 <= x + K%:R * η by rewrite -ler_subl_addr sub0r.
have xk : x + K%:R * η <= (K.*2)%:R * η by rewrite -addnn natrD mulrDl ler_add2r.
have [j jk near] := round_up x0 xk; exists (Ordinal (jk : j < _.+1)%N); rewrite /= mulrBl.
by rewrite opprB addrA.
Qed.

(** Weights in a box, rounded coordinate by coordinate: [(2K + 1) ^ p] centres. *)
Theorem round_cover (w : 'I_p -> R) : (forall i, `|w i| <= K%:R * η) ->
  exists z : grid, forall i, `|w i - point z i| <= η.
Proof.
move=> box; have [z near] := fin_all_exists (fun i => round (box i)).
by exists [ffun i => z i] => i; rewrite /point ffunE.
Qed.

Lemma card_grid : #|{: grid}| = (K.*2.+1 ^ p)%N.
Proof. by rewrite card_ffun !card_ord. Qed.

End Rounding.

(** ** Composition *)

Section Composition.

Variables (R : realFieldType) (X Y Z : Type) (dY : Y -> Y -> R) (dZ : Z -> Z -> R).
Hypothesis triangle : forall a b c, dZ a c <= dZ a b + dZ b c.

(** The error of the first block passes through the true second one, whose slope is [L]; the second
    block meets the inputs that the covered first one makes. *)
Theorem compose_error (f g : X -> Y) (F G : Y -> Z) (L ε1 ε2 : R) : 0 <= L ->
  (forall y y', dZ (F y) (F y') <= L * dY y y') ->
  (forall x, dY (f x) (g x) <= ε1) -> (forall x, dZ (F (g x)) (G (g x)) <= ε2) ->
  forall x, dZ (F (f x)) (G (g x)) <= L * ε1 + ε2.
Proof.
move=> L0 slope near1 near2 x; apply: le_trans (triangle _ (F (g x)) _) _.
by rewrite ler_add //; apply: le_trans (slope _ _) _; rewrite ler_wpmul2l.
Qed.

(** So covers of the blocks make a cover of the composition: sizes multiply, logarithms add. *)
Theorem compose_cover (Θ Φ : Type) (f : Θ -> X -> Y) (F : Φ -> Y -> Z) (I J : finType)
    (g : I -> X -> Y) (G : J -> Y -> Z) (L ε1 ε2 : R) : 0 <= L ->
  (forall φ y y', dZ (F φ y) (F φ y') <= L * dY y y') ->
  (forall θ, exists i, forall x, dY (f θ x) (g i x) <= ε1) ->
  (forall φ, exists j, forall y, dZ (F φ y) (G j y) <= ε2) ->
  forall θ φ, exists ij : I * J, forall x, dZ (F φ (f θ x)) (G ij.2 (g ij.1 x)) <= L * ε1 + ε2.
Proof.
move=> L0 slope cover1 cover2 θ φ; have [i near1] := cover1 θ; have [j near2] := cover2 φ.
by exists (i, j) => x; apply: (compose_error L0 (slope φ) near1).
Qed.

End Composition.

