//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-DOFN6ceK.js";function t(t){return e(t,`base-ui`)}export{t};